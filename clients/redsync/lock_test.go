package redsync_test

import (
	"errors"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/redsync"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/decided"
)

func TestMain(m *testing.M) { backendstest.Main(m, redsync.Redsync) }

func TestConformance(t *testing.T) {
	t.Parallel()
	backendstest.NeedRedis(t)
	backendstest.Conform(t, "redis-five", time.Second, clienttest.Run, redsync.Redsync)
}

// TestRedsyncOpenTry: three servers of five are silent. What two have taken is given
// back, what the three will do is an open question, and the error tells since when.
func TestRedsyncOpenTry(t *testing.T) {
	t.Parallel()
	decided.Run(t, func() { redsyncOpenTry(t) })
}

func redsyncOpenTry(t *testing.T) {
	const ttl = 4 * time.Second // a try waits for 200 ms
	s, l, behind := backendstest.Five(t, redsync.Redsync, ttl)
	g, err := l.Acquire(backendstest.Limit(t), "warm")
	if err != nil {
		t.Fatal(err)
	}
	backendstest.Released(t, l, g, ttl)
	var resume []func()
	for _, n := range s.Nodes[:3] {
		resume = append(resume, backendstest.StopNode(t, n))
	}
	backendstest.OpenTry(t, l, "k")
	for i, c := range behind[3:] {
		if n, err := c.Exists(backendstest.Limit(t), "lock:{k}").Result(); n != 0 || err != nil {
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
	_, l, behind := backendstest.Five(t, redsync.Redsync, 4*time.Second) // a try waits for 200 ms
	for _, c := range behind[:3] {
		if err := c.Set(backendstest.Limit(t), "lock:{k}", "another's", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	backendstest.CheckBusy(t, l, "k")
	for i, c := range behind[3:] {
		if n, err := c.Exists(backendstest.Limit(t), "lock:{k}").Result(); n != 0 || err != nil {
			t.Errorf("left on redis-%d: %d, %v", i+4, n, err)
		}
	}
}

// TestRedsyncMinority: a silent server stops nobody, and a release that a
// majority did not answer is no definite answer.
func TestRedsyncMinority(t *testing.T) {
	t.Parallel()
	decided.Run(t, func() { redsyncMinority(t) })
}

func redsyncMinority(t *testing.T) {
	const ttl = time.Second
	s, l, _ := backendstest.Five(t, redsync.Redsync, ttl)
	first := backendstest.StopNode(t, s.Nodes[0])
	g, err := l.Acquire(backendstest.Limit(t), "k")
	if err != nil {
		t.Fatal(err)
	}
	if valid := time.Duration(g.ValidFor); !g.HasValidFor || valid <= 0 || valid > 990*time.Millisecond {
		t.Errorf("valid for %v", valid)
	}
	second, third := backendstest.StopNode(t, s.Nodes[1]), backendstest.StopNode(t, s.Nodes[2])
	err = l.Release(backendstest.Limit(t), g)
	if errors.Is(err, clients.ErrNotHeld) {
		backendstest.Within(g, ttl, err)
	}
	if err == nil || clients.Definite(err) {
		t.Errorf("released by two of five: %v", err)
	}
	third()
	second()
	first()
	if g, err = l.Acquire(backendstest.Limit(t), "k"); err != nil {
		t.Fatal(err)
	}
	backendstest.Released(t, l, g, ttl)
}
