package redis_test

import (
	"sync"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
)

// TestCronSharesTicksOut: each tick is one instance's, also when all ask at the same time, and its
// key says that it is done.
func TestCronSharesTicksOut(t *testing.T) {
	t.Parallel()
	backendstest.NeedRedis(t)
	s := backendstest.Start(t, "redis")
	ctx := backendstest.Limit(t)
	var mu sync.Mutex
	by := map[int64]int{}
	var all sync.WaitGroup
	for n := range 3 {
		l, err := redis.Cron.Open(ctx, clients.Config{Nodes: s.Addrs(), TTL: time.Second, Client: n + 1,
			Every: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer l.Close(ctx)
			for range 5 {
				g, err := l.Acquire(ctx, "bill")
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				by[g.Token]++
				mu.Unlock()
				if err := l.Release(ctx, g); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if len(by) != 15 {
		t.Errorf("15 executions of %d ticks: %v", len(by), by)
	}
	c := backendstest.Behind(t, s.Addrs()[0])
	keys, err := c.Keys(ctx, redis.LockKey("bill")+":*").Result()
	if err != nil || len(keys) != 15 {
		t.Fatal(keys, err)
	}
	if value, err := c.Get(ctx, keys[0]).Result(); err != nil || value[:8] != "done by " {
		t.Errorf("%q, %v", value, err)
	}
	if left, err := c.PTTL(ctx, keys[0]).Result(); err != nil || left < time.Minute {
		t.Errorf("the tick is remembered for %v, %v", left, err)
	}
}
