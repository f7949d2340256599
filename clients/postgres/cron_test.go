package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/postgres"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/store"
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
	clienttest.HandsOver(ctx, t, first, second, ttl)
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
		runs := 0
		decided.Run(t, func() {
			runs++
			key := fmt.Sprintf("%s-%d", kind.Name, runs)
			open := func(client int) clients.Lock {
				l, err := kind.Open(ctx, clients.Config{Nodes: s.Addrs(), TTL: ttl, Client: client, Every: every})
				if err != nil {
					t.Fatal(err)
				}
				return l
			}
			first, second := open(1), open(2)
			defer func() { _ = second.Close(ctx) }()
			if _, err := first.Acquire(ctx, key); err != nil {
				t.Fatal(err)
			}
			if err := first.Close(ctx); err != nil {
				t.Error(err)
			}
			if kind.Control == "" {
				if _, err := second.Acquire(ctx, key); err != nil {
					t.Errorf("%s: %v", kind.Name, err)
				}
				return
			}
			asks, cancel := context.WithTimeout(ctx, 10*every)
			defer cancel()
			switch _, err := second.Acquire(asks, key); {
			case err == nil:
				t.Errorf("%s has its row unlocked", kind.Name)
			case !errors.Is(err, clients.ErrBusy):
				decided.Lacks("an answer in time: %v", err)
			}
		})
	}
}

// TestCronAll: each tick that nobody executed is made up for, in order. The control executes the
// latest one.
func TestCronAll(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "postgres")
	const ttl, every, missed = time.Hour, 50 * time.Millisecond, 4
	s := backendstest.Start(t, "postgres")
	ctx := backendstest.Limit(t)
	for _, kind := range []clients.Kind{postgres.CronAll, postgres.CronSkips} {
		open := func(client int) clients.Lock {
			l, err := kind.Open(ctx, clients.Config{Nodes: s.Addrs(), TTL: ttl, Client: client, Every: every})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close(ctx) })
			return l
		}
		execute := func(l clients.Lock) int64 {
			t.Helper()
			g, err := l.Acquire(ctx, kind.Name)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Release(ctx, g); err != nil {
				t.Error(err)
			}
			return g.Token
		}
		first, second := open(1), open(2)
		tick := execute(first)
		for time.Now().UnixMilli() < tick+missed*every.Milliseconds() {
			time.Sleep(time.Millisecond)
		}
		for range missed {
			next := execute(second)
			if owed := tick + every.Milliseconds(); kind.Control == "" && next != owed || kind.Control != "" && next <= owed {
				t.Errorf("%s: tick %d after %d, which was the last one that was executed", kind.Name, next, tick)
			}
			if kind.Control != "" {
				break
			}
			tick = next
		}
	}
}

// TestCronExact: the tick's row is its owner's until the tick is done, and an execution whose
// effect did not come is not marked.
func TestCronExact(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "postgres")
	const ttl, every = time.Hour, 50 * time.Millisecond
	s := backendstest.Start(t, "postgres")
	ctx := backendstest.Limit(t)
	engine, err := store.Open(ctx, store.Spec{Engine: "postgres", Addrs: s.Addrs(), Name: "exact",
		Fencing: store.Fencing{Guarded: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	open := func(client int) clients.Lock {
		l, err := postgres.CronExact.Open(ctx, clients.Config{Nodes: s.Addrs(), TTL: ttl, Client: client, Every: every})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close(ctx) })
		return l
	}
	first, second := open(1), open(2)
	effect := func(l clients.Lock, g clients.Grant, version int64) {
		t.Helper()
		e, err := engine.Do(ctx, store.Request{Key: g.Key, Token: g.Token, Guard: l.(clients.Guarder).Guard(g), Value: 7}, true)
		if refused := version == 0; e.Version != version || e.Refused != refused || errors.Is(err, store.ErrRefused) != refused {
			t.Errorf("%+v, %v, want version %d", e, err, version)
		}
	}
	acquire := func(l clients.Lock) clients.Grant {
		t.Helper()
		g, err := l.Acquire(ctx, "bill")
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	a := acquire(first)
	effect(second, a, 0) // another's tick
	effect(first, clients.Grant{Key: "bill", Token: a.Token - 1}, 0)
	effect(first, clients.Grant{Key: "other", Token: a.Token}, 0)
	effect(first, a, 1)
	effect(first, a, 0) // once
	if err := first.Release(ctx, a); err != nil {
		t.Error(err)
	}
	b := acquire(second)
	if b.Token <= a.Token {
		t.Errorf("tick %d after %d, which is done", b.Token, a.Token)
	}
	effect(first, a, 0)
	if err := second.Release(ctx, b); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("the mark of a tick that had no effect: %v", err)
	}
	c := acquire(first) // the row is free all the same
	effect(second, b, 0)
	effect(first, c, 2)
	e, err := engine.Do(ctx, store.Request{Key: "bill"}, false)
	if err != nil || e.Version != 2 || e.Seq != 9 {
		t.Errorf("%+v, %v", e, err)
	}
}
