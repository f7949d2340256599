package redlock_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/redlock"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/decided"
)

func TestMain(m *testing.M) { backendstest.Main(m, redlock.Redlock) }

func TestConformance(t *testing.T) {
	t.Parallel()
	backendstest.NeedRedis(t)
	backendstest.Conform(t, "redis-five", time.Second, clienttest.Run, redlock.Redlock)
}

// TestRedlockValidity: the validity is the TTL less drift and the time that asking took.
func TestRedlockValidity(t *testing.T) {
	decided.Run(t, func() { redlockValidity(t) })
}

func redlockValidity(t *testing.T) {
	const ttl = 2 * time.Second
	_, l, behind := backendstest.Five(t, redlock.Redlock, ttl)
	began := time.Now()
	g, err := l.Acquire(backendstest.Limit(t), "k")
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	most := ttl - ttl/100 - 2*time.Millisecond
	if valid := time.Duration(g.ValidFor); !g.HasValidFor || valid > most || valid < most-took {
		t.Errorf("valid for %v after %v of a TTL of %v", valid, took, ttl)
	}
	values := map[string]int{}
	for _, c := range behind {
		value, err := c.Get(backendstest.Limit(t), "lock:{k}").Result()
		left, err2 := c.PTTL(backendstest.Limit(t), "lock:{k}").Result()
		if errors.Is(err, goredis.Nil) { // three are enough, and one that is slow is not waited for
			decided.Lacks("a grant that each of the five servers took in time")
		}
		if err != nil || err2 != nil || left <= 0 || left > ttl {
			err := fmt.Errorf("%q for %v: %w", value, left, errors.Join(err, err2))
			backendstest.Within(g, ttl, err)
			t.Error(err)
		}
		values[value]++
	}
	if len(values) != 1 {
		t.Errorf("values %v", values)
	}
	backendstest.Released(t, l, g, ttl)
	for i, c := range behind {
		if n, err := c.Exists(backendstest.Limit(t), "lock:{k}").Result(); n != 0 || err != nil {
			t.Errorf("left on redis-%d: %d, %v", i+1, n, err)
		}
	}
}

// TestRedlockMinority: two servers that are dead and frozen stop nobody; with a
// third there is no majority, and no definite answer.
func TestRedlockMinority(t *testing.T) {
	t.Parallel()
	decided.Run(t, func() { redlockMinority(t) })
}

func redlockMinority(t *testing.T) {
	const ttl = time.Second
	s, l, _ := backendstest.Five(t, redlock.Redlock, ttl)
	if err := s.Nodes[0].Host.Close(); err != nil { // no host, no answer
		t.Fatal(err)
	}
	second := backendstest.StopNode(t, s.Nodes[1])
	for range 3 {
		g, err := l.Acquire(backendstest.Limit(t), "k")
		if err != nil {
			t.Fatal(err)
		}
		backendstest.Released(t, l, g, ttl)
	}
	third := backendstest.StopNode(t, s.Nodes[2])
	backendstest.OpenTry(t, l, "k")
	third()
	second()
	g, err := l.Acquire(backendstest.Limit(t), "k")
	if err != nil {
		t.Fatal(err)
	}
	// A release that a majority did not confirm confirms nothing.
	third = backendstest.StopNode(t, s.Nodes[2])
	second = backendstest.StopNode(t, s.Nodes[1])
	err = l.Release(backendstest.Limit(t), g)
	if errors.Is(err, clients.ErrNotHeld) {
		backendstest.Within(g, ttl, err)
	}
	if err == nil || clients.Definite(err) {
		t.Errorf("released by two of five: %v", err)
	}
	third()
	second()
}

// TestRedlockTaken: another has three of five. The answer is busy, and what was
// taken of the other two is given back.
func TestRedlockTaken(t *testing.T) {
	decided.Run(t, func() { redlockTaken(t) })
}

func redlockTaken(t *testing.T) {
	const ttl = time.Second
	_, l, behind := backendstest.Five(t, redlock.Redlock, ttl)
	for _, c := range behind[:3] {
		if err := c.Set(backendstest.Limit(t), "lock:{k}", "another's", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	switch _, err := l.Acquire(backendstest.Shortly(t), "k"); {
	case err != nil && !clients.Definite(err):
		decided.Lacks("an answer of a majority in time: %v", err)
	case !errors.Is(err, clients.ErrBusy):
		t.Errorf("taken by a majority: %v", err)
	}
	for i, c := range behind {
		value, err := c.Get(backendstest.Limit(t), "lock:{k}").Result()
		if want := i < 3; want != (value == "another's" && err == nil) || !want && !errors.Is(err, goredis.Nil) {
			t.Errorf("redis-%d has %q, %v", i+1, value, err)
		}
	}
	// Two of five are no hindrance.
	if err := behind[0].Del(backendstest.Limit(t), "lock:{k}").Err(); err != nil {
		t.Fatal(err)
	}
	g, err := l.Acquire(backendstest.Limit(t), "k")
	if err != nil {
		t.Fatal(err)
	}
	// One of the three loses its data: the grant has no majority any more,
	// though another server took the key meanwhile under the very same value.
	value, err := behind[4].Get(backendstest.Limit(t), "lock:{k}").Result()
	backendstest.Within(g, ttl, err)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(behind[0].Del(backendstest.Limit(t), "lock:{k}").Err(),
		behind[1].Set(backendstest.Limit(t), "lock:{k}", value, 0).Err()); err != nil {
		t.Fatal(err)
	}
	if err := l.(clients.Holder).Held(backendstest.Limit(t), g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("held by two of those that granted it: %v", err)
	}
	if err := l.Release(backendstest.Limit(t), g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("released by two of those that granted it: %v", err)
	}
}

func TestRedlockConfig(t *testing.T) {
	for _, nodes := range []int{0, 1, 2, 3} {
		c := clients.Config{TTL: time.Second}
		for n := range nodes {
			c.Nodes = append(c.Nodes, fmt.Sprintf("h:%d", n+1))
		}
		l, err := redlock.Redlock.Open(t.Context(), c)
		if (err == nil) != (nodes == 3) {
			t.Errorf("%d nodes: %v", nodes, err)
		}
		if err == nil {
			l.Close(t.Context())
			c.TTL = time.Millisecond
			if _, err := redlock.Redlock.Open(t.Context(), c); err == nil {
				t.Errorf("a TTL of 1 ms was accepted")
			}
		}
	}
}
