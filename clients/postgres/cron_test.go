package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/postgres"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// TestCronHandsOver: an instance that does not go on keeps the job for the TTL, and no longer. Who
// comes after it has the job; a tick that was done is not executed again.
func TestCronHandsOver(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "postgres")
	const ttl = 500 * time.Millisecond
	s := backendstest.Start(t, "postgres")
	ctx := backendstest.Limit(t)
	open := func(client int) clients.Lock {
		l, err := postgres.Cron.Open(ctx, clients.Config{Nodes: s.Addrs(), TTL: ttl, Client: client,
			Every: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close(ctx) })
		return l
	}
	first, second := open(1), open(2)
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

// TestCronGivesUp: an instance that is closed at its work unlocks the row, so that another one has
// the job at once. That of the control stays locked.
func TestCronGivesUp(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "postgres")
	const ttl, every = time.Hour, 50 * time.Millisecond
	s := backendstest.Start(t, "postgres")
	ctx := backendstest.Limit(t)
	for _, kind := range []clients.Kind{postgres.Cron, postgres.CronLeaves} {
		open := func(client int) clients.Lock {
			l, err := kind.Open(ctx, clients.Config{Nodes: s.Addrs(), TTL: ttl, Client: client, Every: every})
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		first, second := open(1), open(2)
		t.Cleanup(func() { _ = second.Close(ctx) })
		if _, err := first.Acquire(ctx, kind.Name); err != nil {
			t.Fatal(err)
		}
		if err := first.Close(ctx); err != nil {
			t.Error(err)
		}
		asks, cancel := ctx, func() {}
		if kind.Control != "" {
			asks, cancel = context.WithTimeout(ctx, 10*every)
		}
		_, err := second.Acquire(asks, kind.Name)
		cancel()
		if kind.Control == "" && err != nil || kind.Control != "" && !errors.Is(err, clients.ErrBusy) {
			t.Errorf("%s: %v", kind.Name, err)
		}
	}
}
