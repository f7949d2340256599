package clienttest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// HandsOver demands that an instance of a scheduler that does not go on keeps the job for the TTL,
// and no longer; and that who comes after it has the job, and executes no tick that was done.
func HandsOver(ctx context.Context, t testing.TB, first, second clients.Lock, ttl time.Duration) {
	t.Helper()
	a, err := first.Acquire(ctx, "bill")
	if err != nil {
		t.Fatal(err)
	}
	b, err := second.Acquire(ctx, "bill")
	if err != nil {
		t.Fatal(err)
	}
	if held := monotime.Now() - a.Attempt; held < int64(ttl) {
		t.Errorf("another instance had the job after %v", time.Duration(held))
	}
	if err := first.Release(ctx, a); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("the mark of an execution that is over: %v", err)
	}
	if err := second.Release(ctx, b); err != nil {
		t.Error(err)
	}
	for range 3 {
		next, err := first.Acquire(ctx, "bill")
		if err != nil || next.Token <= b.Token {
			t.Fatalf("%+v after tick %d, %v", next, b.Token, err)
		}
		if err := first.Release(ctx, next); err != nil {
			t.Error(err)
		}
		b = next
	}
}
