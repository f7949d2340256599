package main

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
)

// A former leader is refused as soon as the next one has read, and only by a fence.
func TestFence(t *testing.T) {
	for _, fence := range []bool{false, true} {
		server := httptest.NewServer((&ledger{paid: map[int64]int{}, fence: fence}).handler())
		defer server.Close()
		b, former, next := books{server.URL}, &grant{token: 3}, &grant{token: 5}
		order, err := b.next(t.Context(), former)
		if err != nil || order != 1 {
			t.Fatalf("fence %v: order %d, %v", fence, order, err)
		}
		if again, err := b.next(t.Context(), next); err != nil || again != order {
			t.Fatalf("fence %v: order %d, %v", fence, again, err)
		}
		if err := b.pay(t.Context(), former, order); errors.Is(err, errStale) != fence {
			t.Errorf("fence %v: the former leader's payment: %v", fence, err)
		}
		if err := b.pay(t.Context(), next, order); err != nil {
			t.Errorf("fence %v: the leader's payment: %v", fence, err)
		}
		list, err := b.ask(t.Context(), "GET", "/payments", nil)
		if err != nil || strings.Contains(list, "order 1 was paid 2 times") == fence {
			t.Errorf("fence %v: %q, %v", fence, list, err)
		}
	}
}
