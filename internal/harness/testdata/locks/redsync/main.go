// go-redsync/redsync as its README uses it.
package main

import (
	"context"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/internal/harness/testdata/locks/lines"
)

type lock struct {
	s    *redsync.Redsync
	held *redsync.Mutex
}

func (l *lock) Acquire(ctx context.Context, key string, ttl time.Duration) error {
	l.held = l.s.NewMutex(key, redsync.WithExpiry(ttl), redsync.WithTries(1))
	return l.held.LockContext(ctx)
}

func (l *lock) Release(ctx context.Context, _ string) error {
	_, err := l.held.UnlockContext(ctx)
	return err
}

func main() {
	lines.Serve("redsync, plain", func(c *redis.Client) lines.Lock { return &lock{s: redsync.New(goredis.NewPool(c))} })
}
