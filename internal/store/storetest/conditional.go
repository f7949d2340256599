package storetest

import (
	"errors"
	"math"
	"sync"
	"testing"

	"github.com/lockchaos/lockchaos/internal/store"
)

func ifVersion(base, value int64) store.Request {
	return store.Request{Key: "a", Mode: store.WriteIfVersion, Base: base, Value: value}
}

func onCondition(t *testing.T, open Open) {
	l := open(t, unfenced)
	if e := do(t, l, true, ifVersion(1, 5), store.ErrConflict); !e.Conflict || e.Refused || e.Version != 0 ||
		e.Seq != 1 {
		t.Errorf("an empty key is version 0: %+v", e)
	}
	if e := do(t, l, true, ifVersion(0, 10), nil); e.Version != 1 || e.Replaced != 0 {
		t.Errorf("%+v", e)
	}
	do(t, l, true, ifVersion(0, 11), store.ErrConflict)
	do(t, l, true, ifVersion(1, 20), nil)
	do(t, l, true, store.Request{Key: "a", Value: 30}, nil) // who does not ask is not asked
	do(t, l, true, ifVersion(2, 21), store.ErrConflict)
	if e := do(t, l, false, store.Request{Key: "a"}, nil); e.Version != 3 || e.Value != 30 {
		t.Errorf("a conflict must leave the key as it was: %+v", e)
	}
	checkOrder(t, all(t, l))
}

// optimistic is what the condition is for: without any lock, every increment counts.
func optimistic(t *testing.T, open Open) {
	const clients, each = 5, 20
	l, ctx := open(t, unfenced), deadline(t)
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for done := 0; done < each && ctx.Err() == nil; {
				seen, err := l.Do(ctx, store.Request{Key: "a"}, false)
				if err == nil {
					_, err = l.Do(ctx, ifVersion(seen.Version, seen.Value+1), true)
				}
				switch {
				case err == nil:
					done++
				case !errors.Is(err, store.ErrConflict):
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	if e := do(t, l, false, store.Request{Key: "a"}, nil); e.Value != clients*each || e.Version != clients*each {
		t.Errorf("%d increments: %+v", clients*each, e)
	}
	checkOrder(t, all(t, l))
}

func add(value int64) store.Request {
	return store.Request{Key: "a", Mode: store.WriteAdd, Value: value}
}

func addition(t *testing.T, open Open) {
	l := open(t, unfenced)
	for _, step := range []struct{ value, sum, version int64 }{{5, 5, 1}, {-7, -2, 2}, {1 << 60, 1<<60 - 2, 3},
		{0, 1<<60 - 2, 4}} {
		e := do(t, l, true, add(step.value), nil)
		if e.Value != step.sum || e.Version != step.version || e.Replaced != step.version-1 || !e.Atomic() {
			t.Errorf("%+v: %+v", step, e)
		}
	}
	if e := do(t, l, false, store.Request{Key: "a"}, nil); e.Value != 1<<60-2 || e.Version != 4 || e.Atomic() {
		t.Errorf("%+v", e)
	}
	checkOrder(t, all(t, l))
}

func overflow(t *testing.T, open Open) {
	l := open(t, unfenced)
	do(t, l, true, add(math.MaxInt64), nil)
	do(t, l, true, add(1), store.ErrBadRequest)
	do(t, l, true, add(-1), nil)
	do(t, l, true, store.Request{Key: "a", Value: math.MinInt64}, nil)
	do(t, l, true, add(-1), store.ErrBadRequest)
	if e := do(t, l, false, store.Request{Key: "a"}, nil); e.Value != math.MinInt64 || e.Version != 3 || e.Seq != 4 {
		t.Errorf("%+v", e)
	}
	if entries := all(t, l); len(entries) != 4 {
		t.Errorf("%+v", entries)
	}
}

// fencedCondition: a stale writer is told that it is stale, whatever version it
// wrote upon; and a conflict raises no fence.
func fencedCondition(t *testing.T, open Open) {
	l := open(t, onWrites)
	write := func(token, base int64, want error) store.Entry {
		t.Helper()
		r := ifVersion(base, token)
		r.Token = token
		return do(t, l, true, r, want)
	}
	write(5, 0, nil)
	if e := write(4, 0, store.ErrRefused); e.Conflict {
		t.Errorf("%+v", e)
	}
	if e := write(9, 0, store.ErrConflict); e.Refused || e.Fence != 5 {
		t.Errorf("%+v", e)
	}
	write(6, 1, nil)
	r := add(1)
	r.Token = 5
	if e := do(t, l, true, r, store.ErrRefused); e.Atomic() || e.Value != 1 {
		t.Errorf("%+v", e)
	}
}
