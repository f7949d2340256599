package redis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// TestFailoverLosesTheLock: the primary dies before its replica has heard of a key. The
// replica is promoted, and the lock is granted again long before its TTL has passed.
func TestFailoverLosesTheLock(t *testing.T) {
	t.Parallel()
	backendstest.NeedRedis(t)
	decided.Run(t, func() { failoverLosesTheLock(t) })
}

func failoverLosesTheLock(t *testing.T) {
	const ttl = 45 * time.Second
	s := backendstest.Start(t, "redis-failover")
	primary, replica := s.Nodes[0], s.Nodes[1]
	l, other := backendstest.Open(t, redis.Failover, s, ttl, 1), backendstest.Open(t, redis.Failover, s, ttl, 2)
	// Frozen and cut off, the replica hears of nothing more; frozen alone, it
	// would find it in its socket.
	resume := backendstest.StopNode(t, replica)
	if n, err := backendstest.Behind(t, primary.Addr).ClientKillByFilter(backendstest.Limit(t), "TYPE", "replica").Result(); err != nil || n != 1 {
		t.Fatalf("%d replicas were cut off, %v", n, err)
	}
	g, err := l.Acquire(backendstest.Limit(t), "k")
	if err != nil {
		t.Fatal(err)
	}
	if err := primary.Process.Kill(backendstest.Limit(t)); err != nil {
		t.Fatal(err)
	}
	resume()
	again, err := other.Acquire(backendstest.Limit(t), "k")
	if err != nil {
		t.Fatal(err)
	}
	if age := monotime.Since(g.Attempt); age >= ttl {
		decided.Lacks("a second grant within a lease of %v: it came after %v", ttl, age)
	}
	if err := l.(clients.Holder).Held(backendstest.Limit(t), g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("the first holder, asked whether it holds: %v", err)
	}
	if err := l.Release(backendstest.Limit(t), g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("the first holder's release: %v", err)
	}
	if err := other.Release(backendstest.Limit(t), again); err != nil {
		t.Error(err)
	}
}
