package redislock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/redislock"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

func TestMain(m *testing.M) { backendstest.Main(m, redislock.Redislock) }

func TestConformance(t *testing.T) {
	t.Parallel()
	backendstest.NeedRedis(t)
	backendstest.Conform(t, "redis", time.Second, clienttest.Run, redislock.Redislock)
}

// TestRedislockStamps: a waiter's attempt is the one that took the key, not the first of
// its Obtain; it waits for longer than a TTL without a deadline, though the library by
// itself would not; and an answer that does not come is an open question with a beginning.
func TestRedislockStamps(t *testing.T) {
	t.Parallel()
	backendstest.NeedRedis(t)
	decided.Run(t, func() { redislockStamps(t) })
}

func redislockStamps(t *testing.T) {
	const ttl = time.Second
	s := backendstest.Start(t, "redis")
	a, b := backendstest.Open(t, redislock.Redislock, s, ttl, 1), backendstest.Open(t, redislock.Redislock, s, ttl, 2)
	if _, err := a.Acquire(backendstest.Limit(t), "k"); err != nil {
		t.Fatal(err)
	}
	began := monotime.Now()
	g, err := b.Acquire(context.Background(), "k") // until a's lease is over
	if err != nil {
		t.Fatal(err)
	}
	if g.Attempt <= began || g.First != g.Attempt {
		t.Errorf("called at %d, %+v", began, g)
	}
	if monotime.Since(g.Attempt) > ttl {
		err := fmt.Errorf("%+v, now %d", g, monotime.Now())
		backendstest.Within(g, ttl, err)
	}
	backendstest.Released(t, b, g, ttl)
	c := goredis.NewClient(&goredis.Options{Addr: s.Addrs()[0], Protocol: 2})
	defer c.Close()
	if err := c.Set(backendstest.Limit(t), "lock:{taken}", "another's", 0).Err(); err != nil {
		t.Fatal(err)
	}
	backendstest.CheckBusy(t, backendstest.Open(t, redislock.Redislock, s, 2*time.Second, 3), "taken")
	resume := backendstest.StopNode(t, s.Nodes[0])
	backendstest.OpenTry(t, a, "k")
	resume()
}
