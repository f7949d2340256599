package backends_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redsync"
	"github.com/lockchaos/lockchaos/internal/decided"
)

// TestRedsyncOpenTry: three servers of five are silent. What two have taken is given
// back, what the three will do is an open question, and the error tells since when.
func TestRedsyncOpenTry(t *testing.T) {
	t.Parallel()
	decided.Run(t, func() { redsyncOpenTry(t) })
}

func redsyncOpenTry(t *testing.T) {
	const ttl = 4 * time.Second // a try waits for 200 ms
	s, l, behind := five(t, redsync.Redsync, ttl)
	g, err := l.Acquire(limit(t), "warm")
	if err != nil {
		t.Fatal(err)
	}
	released(t, l, g, ttl)
	var resume []func()
	for _, n := range s.Nodes[:3] {
		resume = append(resume, stopNode(t, n))
	}
	openTry(t, l, "k")
	for i, c := range behind[3:] {
		if n, err := c.Exists(limit(t), "lock:{k}").Result(); n != 0 || err != nil {
			t.Errorf("left on redis-%d: %d, %v", i+4, n, err)
		}
	}
	for _, r := range resume {
		r()
	}
}

// TestRedsyncTaken: another has three of five. Whenever the context ends,
// nothing of ours is left on the other two, and nothing is open.
func TestRedsyncTaken(t *testing.T) {
	decided.Run(t, func() { redsyncTaken(t) })
}

func redsyncTaken(t *testing.T) {
	_, l, behind := five(t, redsync.Redsync, 4*time.Second) // a try waits for 200 ms
	for _, c := range behind[:3] {
		if err := c.Set(limit(t), "lock:{k}", "another's", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	checkBusy(t, l, "k")
	for i, c := range behind[3:] {
		if n, err := c.Exists(limit(t), "lock:{k}").Result(); n != 0 || err != nil {
			t.Errorf("left on redis-%d: %d, %v", i+4, n, err)
		}
	}
}

// checkBusy gives acquires of a taken key little time, so that it ends in the middle of an
// attempt now and then. Some may end before they have begun, but never is anything open.
func checkBusy(t *testing.T, l clients.Lock, key string) {
	t.Helper()
	busy := 0
	for i := range 50 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i+1)*100*time.Microsecond)
		g, err := l.Acquire(ctx, key)
		cancel()
		switch {
		case errors.Is(err, clients.ErrBusy):
			busy++
		case err == nil || clients.Definite(err):
			t.Errorf("%s is taken: %+v, %v", key, g, err)
		case g.First != 0:
			decided.Lacks("answers of a taken key in time: %+v, %v", g, err)
		}
	}
	t.Logf("%s was busy %d times", key, busy)
	refused(t, l, key)
}

// TestRedsyncMinority: a silent server stops nobody, and a release that a
// majority did not answer is no definite answer.
func TestRedsyncMinority(t *testing.T) {
	t.Parallel()
	decided.Run(t, func() { redsyncMinority(t) })
}

func redsyncMinority(t *testing.T) {
	const ttl = time.Second
	s, l, _ := five(t, redsync.Redsync, ttl)
	first := stopNode(t, s.Nodes[0])
	g, err := l.Acquire(limit(t), "k")
	if err != nil {
		t.Fatal(err)
	}
	if valid := time.Duration(g.ValidFor); !g.HasValidFor || valid <= 0 || valid > 990*time.Millisecond {
		t.Errorf("valid for %v", valid)
	}
	second, third := stopNode(t, s.Nodes[1]), stopNode(t, s.Nodes[2])
	err = l.Release(limit(t), g)
	if errors.Is(err, clients.ErrNotHeld) {
		within(g, ttl, err)
	}
	if err == nil || clients.Definite(err) {
		t.Errorf("released by two of five: %v", err)
	}
	third()
	second()
	first()
	if g, err = l.Acquire(limit(t), "k"); err != nil {
		t.Fatal(err)
	}
	released(t, l, g, ttl)
}
