package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
)

// ghost puts a waiter into the queue of "k" that nobody plays; it counts as alive until the time.
func ghost(t testing.TB, behind *goredis.Client, until time.Time) {
	t.Helper()
	z := goredis.Z{Score: float64(until.UnixMilli()), Member: "ghost"}
	if err := errors.Join(behind.LPush(backendstest.Limit(t), "queue:{k}", "ghost").Err(), behind.ZAdd(backendstest.Limit(t), "waiting:{k}", z).Err()); err != nil {
		t.Fatal(err)
	}
}

// TestFairCollectsTheDead: a waiter that does not poll any more holds the
// others up for as long as it counts as alive, and no longer.
func TestFairCollectsTheDead(t *testing.T) { clienttest.Calmly(t, stall, fairCollectsTheDead) }

func fairCollectsTheDead(t testing.TB) {
	server := startServer(t)
	behind, l := server.client(t), open(t, redis.Fair, server.addr)
	ghost(t, behind, time.Now().Add(time.Hour))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := l.Acquire(ctx, "k"); !errors.Is(err, clients.ErrBusy) {
		t.Errorf("a living waiter stands at the head: %v", err)
	}
	if waiting, err := behind.LRange(backendstest.Limit(t), "queue:{k}", 0, -1).Result(); err != nil || len(waiting) != 1 || waiting[0] != "ghost" {
		t.Errorf("whoever gave up waiting left the queue as %v, %v", waiting, err)
	}
	ghost(t, behind, time.Now().Add(-time.Millisecond))
	g, err := l.Acquire(backendstest.Limit(t), "k")
	if err != nil || g.Enqueued < g.Attempt {
		t.Fatalf("the waiter at the head is dead: %+v, %v", g, err)
	}
	if err := l.Release(backendstest.Limit(t), g); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"lock:{k}", "queue:{k}", "waiting:{k}"} {
		if n, err := behind.Exists(backendstest.Limit(t), key).Result(); n != 0 || err != nil {
			t.Errorf("%s was left: %d, %v", key, n, err)
		}
	}
}

// TestSemaphoreKeepsTheServersTime: leases end by the server's clock, and a
// holder whose lease has ended holds nothing.
func TestSemaphoreKeepsTheServersTime(t *testing.T) {
	clienttest.Calmly(t, stall, semaphoreKeepsTheServersTime)
}

func semaphoreKeepsTheServersTime(t testing.TB) {
	server := startServer(t)
	behind, l := server.client(t), open(t, redis.Semaphore, server.addr)
	now := float64(time.Now().UnixMilli())
	overdue := []goredis.Z{{Score: now - 1000, Member: "1:a"}, {Score: now - 2000, Member: "1:b"}, {Score: now + 3600_000, Member: "1:c"}}
	if err := behind.ZAdd(backendstest.Limit(t), "semaphore:{k}", overdue...).Err(); err != nil {
		t.Fatal(err)
	}
	g, err := l.Acquire(backendstest.Limit(t), "k")
	if err != nil {
		t.Fatal(err)
	}
	members, err := behind.ZRange(backendstest.Limit(t), "semaphore:{k}", 0, -1).Result()
	if err != nil || len(members) != 2 || members[1] != "1:c" {
		t.Errorf("holders %v, %v", members, err)
	}
	score := func() float64 { return behind.ZScore(backendstest.Limit(t), "semaphore:{k}", members[0]).Val() }
	if left := time.Duration(score()-now) * time.Millisecond; left < ttl || left > ttl+10*time.Second {
		t.Errorf("the lease ends %v after the test began", left)
	}
	if err := behind.ZAdd(backendstest.Limit(t), "semaphore:{k}", goredis.Z{Score: now - 1, Member: members[0]}).Err(); err != nil {
		t.Fatal(err)
	}
	if err := l.(clients.Holder).Held(backendstest.Limit(t), g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("held after its end: %v", err)
	}
	if err := l.Release(backendstest.Limit(t), g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("released after its end: %v", err)
	}
}
