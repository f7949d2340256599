package backends_test

import (
	"context"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redislock"
	"github.com/lockchaos/lockchaos/monotime"
)

// TestRedislockStamps: a waiter's attempt is the one that took the key, not the first of its Obtain; it waits for longer than a TTL without a
// deadline, though the library by itself would not; and an answer that does not come is an open question with a beginning.
func TestRedislockStamps(t *testing.T) {
	needRedis(t)
	const ttl = time.Second
	s := start(t, "redis")
	a, b := opened(t, redislock.Redislock, s, ttl, 1), opened(t, redislock.Redislock, s, ttl, 2)
	if _, err := a.Acquire(limit(t), "k"); err != nil {
		t.Fatal(err)
	}
	began := monotime.Now()
	g, err := b.Acquire(context.Background(), "k") // until a's lease is over
	if err != nil {
		t.Fatal(err)
	}
	if g.Attempt <= began || g.First != g.Attempt || monotime.Since(g.Attempt) > ttl {
		t.Errorf("called at %d, %+v, now %d", began, g, monotime.Now())
	}
	if err := b.Release(limit(t), g); err != nil {
		t.Error(err)
	}
	c := goredis.NewClient(&goredis.Options{Addr: s.Addrs()[0], Protocol: 2})
	defer c.Close()
	if err := c.Set(limit(t), "lock:{taken}", "another's", 0).Err(); err != nil {
		t.Fatal(err)
	}
	checkBusy(t, opened(t, redislock.Redislock, s, 2*time.Second, 3), "taken")
	resume := stopNode(t, s.Nodes[0])
	began = monotime.Now()
	g, err = a.Acquire(shortly(t), "k")
	if err == nil || clients.Definite(err) || g.First < began || g.First > monotime.Now() {
		t.Errorf("%+v, %v", g, err)
	}
	resume()
}
