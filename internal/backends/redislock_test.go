package backends_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/postgres"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/clients/redislock"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// TestRedislockStamps: a waiter's attempt is the one that took the key, not the first of
// its Obtain; it waits for longer than a TTL without a deadline, though the library by
// itself would not; and an answer that does not come is an open question with a beginning.
func TestRedislockStamps(t *testing.T) {
	t.Parallel()
	needRedis(t)
	decided.Run(t, func() { redislockStamps(t) })
}

func redislockStamps(t *testing.T) {
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
	if g.Attempt <= began || g.First != g.Attempt {
		t.Errorf("called at %d, %+v", began, g)
	}
	if monotime.Since(g.Attempt) > ttl {
		err := fmt.Errorf("%+v, now %d", g, monotime.Now())
		within(g, ttl, err)
	}
	released(t, b, g, ttl)
	c := goredis.NewClient(&goredis.Options{Addr: s.Addrs()[0], Protocol: 2})
	defer c.Close()
	if err := c.Set(limit(t), "lock:{taken}", "another's", 0).Err(); err != nil {
		t.Fatal(err)
	}
	checkBusy(t, opened(t, redislock.Redislock, s, 2*time.Second, 3), "taken")
	resume := stopNode(t, s.Nodes[0])
	openTry(t, a, "k")
	resume()
}

// TestGrantThatIsOver: an answer that comes after the TTL grants nothing. The
// lock gives it back and asks again.
func TestGrantThatIsOver(t *testing.T) {
	t.Parallel()
	const ttl = time.Second
	for _, kind := range []clients.Kind{redis.Setnx, redis.SetnxFenced, redis.Fair, postgres.Lease} {
		t.Run(kind.Name, func(t *testing.T) {
			need := needRedis
			if kind.Service == "postgres" {
				need = needPostgres
			}
			need(t)
			decided.Run(t, func() { grantThatIsOver(t, kind, ttl) })
		})
	}
}

func grantThatIsOver(t *testing.T, kind clients.Kind, ttl time.Duration) {
	s := start(t, kind.Service)
	l := opened(t, kind, s, ttl, 1)
	g, err := l.Acquire(limit(t), "warm") // connected
	if err != nil {
		t.Fatal(err)
	}
	released(t, l, g, ttl)
	// PostgreSQL's sessions are no part of its process group
	pause, err := s.Nodes[0].Host.Stop(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	began, granted := monotime.Now(), make(chan error, 1)
	go func() {
		g, err = l.Acquire(limit(t), "k")
		granted <- err
	}()
	time.Sleep(ttl + ttl/4) // what is tested is a length of time
	resumed := monotime.Now()
	if err := pause.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := <-granted; err != nil {
		t.Fatal(err)
	}
	if resumed-g.Attempt >= int64(ttl) {
		t.Errorf("granted by an attempt that was unanswered for %v, and a TTL of %v", time.Duration(resumed-g.Attempt), ttl)
	} else if g.Attempt-began < int64(ttl) {
		decided.Lacks("an attempt that was begun in time: %v after the call", time.Duration(g.Attempt-began))
	}
	released(t, l, g, ttl)
}
