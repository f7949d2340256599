package cron

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/decided"
)

// table is a Claimer in memory.
type table struct {
	mu    sync.Mutex
	owner map[int64]string

	fails error // what claims end with; nil: they are answered
}

func (t *table) String() string { return "a table" }
func (t *table) Close() error   { return nil }

func (t *table) Claim(_ context.Context, _, owner string, tick int64) (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()

	if t.fails != nil {
		return 0, t.fails
	}
	if t.owner[tick] != "" {
		return 0, nil
	}
	t.owner[tick] = owner
	return tick, nil
}

func (t *table) Done(_ context.Context, _, owner string, tick int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.owner[tick] != owner {
		return clients.ErrNotHeld
	}
	return nil
}

const every = 20 * time.Millisecond

func instance(t *testing.T, at Claimer, client int, r Rules) *Instance {
	t.Helper()
	i, err := New(clients.Config{Client: client, Every: every, TTL: 50 * time.Millisecond}, at, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Close(context.Background()) })
	return i
}

func limit(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
	t.Cleanup(cancel)
	return ctx
}

// TestTicks: each tick is one instance's, and each instance's ticks rise.
func TestTicks(t *testing.T) {
	at := &table{owner: map[int64]string{}}
	var all sync.WaitGroup
	for n := range 3 {
		i := instance(t, at, n+1, Rules{})
		all.Go(func() {
			last := int64(0)
			for range 5 {
				g, err := i.Acquire(limit(t), "k")
				if err != nil {
					t.Error(err)
					return
				}
				if g.Token <= last || g.Token%every.Milliseconds() != 0 || g.Attempt == 0 {
					t.Errorf("%+v after tick %d", g, last)
				}
				last = g.Token
				if err := i.Release(limit(t), g); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if len(at.owner) != 15 {
		t.Errorf("%d ticks", len(at.owner))
	}
}

// TestBusy: an instance that no tick came to says so, and asks once a tick unless it retries.
func TestBusy(t *testing.T) {
	for _, r := range []Rules{{}, {Retries: true}} {
		taken := &taken{}
		i := instance(t, taken, 1, r)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			for taken.ticks() < 4 && t.Context().Err() == nil {
				time.Sleep(time.Millisecond)
			}
		}()
		if _, err := i.Acquire(ctx, "k"); !errors.Is(err, clients.ErrBusy) {
			t.Error(err)
		}
		if most := taken.most(); !r.Retries && most != 1 || r.Retries && most < 2 {
			t.Errorf("%+v: asked %d times for a tick", r, most)
		}
	}
}

// taken is a Claimer whose ticks all are another's.
type taken struct {
	table
	asks map[int64]int
}

func (t *taken) Claim(_ context.Context, _, _ string, tick int64) (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asks == nil {
		t.asks = map[int64]int{}
	}
	t.asks[tick]++
	return 0, nil
}

func (t *taken) ticks() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.asks)
}

func (t *taken) most() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, times := range t.asks {
		n = max(n, times)
	}
	return n
}

// TestUnanswered: a claim that was not answered is indefinite, and an instance that asks once
// leaves that tick alone.
func TestUnanswered(t *testing.T) {
	at := &table{owner: map[int64]string{}, fails: errors.New("no answer")}
	i := instance(t, at, 1, Rules{})
	g, err := i.Acquire(limit(t), "k")
	if err == nil || clients.Definite(err) || g.First == 0 {
		t.Errorf("%+v, %v", g, err)
	}
	before := i.before
	at.fails = nil
	if g, err = i.Acquire(limit(t), "k"); err != nil || g.Token <= before {
		t.Errorf("%+v after %d, %v", g, before, err)
	}
}

// TestTells: the application is told when the time of its execution is over.
func TestTells(t *testing.T) {
	i := instance(t, &table{owner: map[int64]string{}}, 1, Rules{Tells: true})
	g, err := i.Acquire(limit(t), "k")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case loss := <-i.Lost():
		if loss.Token != g.Token || loss.Key != "k" {
			t.Errorf("%+v", loss)
		}
	case <-limit(t).Done():
		t.Fatal("nobody told")
	}
	if silent := instance(t, &table{owner: map[int64]string{}}, 2, Rules{}); silent.Lost() != nil {
		t.Error("it has nothing to tell")
	}
}

// TestPeriod: without a period there are no ticks.
func TestPeriod(t *testing.T) {
	for _, wrong := range []time.Duration{0, -every, time.Microsecond, every + 1} {
		if _, err := New(clients.Config{Every: wrong}, &table{}, Rules{}); err == nil {
			t.Errorf("a period of %v", wrong)
		}
	}
}

// TestGivesUp: an instance that is closed gives up the tick that it executes, and no other.
func TestGivesUp(t *testing.T) {
	for _, done := range []bool{false, true} {
		at := &giving{table: table{owner: map[int64]string{}}}
		i, err := New(clients.Config{Client: 1, Every: every, TTL: 50 * time.Millisecond}, at, Rules{Tells: true})
		if err != nil {
			t.Fatal(err)
		}
		g, err := i.Acquire(limit(t), "k")
		if err != nil {
			t.Fatal(err)
		}
		if done {
			if err := i.Release(limit(t), g); err != nil {
				t.Error(err)
			}
		}
		if err := i.Close(limit(t)); err != nil || (at.up == g.Token) == done {
			t.Errorf("done %v: gave up tick %d of %d, %v", done, at.up, g.Token, err)
		}
	}
}

// giving is a Claimer at which ticks are given up.
type giving struct {
	table
	up int64
}

func (t *giving) GiveUp(_ context.Context, _, _ string, tick int64) error {
	t.up = tick
	return clients.ErrNotHeld // another one's by now, which is no error
}
