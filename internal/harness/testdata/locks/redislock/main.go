// bsm/redislock as its README uses it. It looks at no clock when the reply comes, so a reply that
// is late by a TTL makes a lock that has expired.
package main

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/internal/harness/testdata/locks/lines"
)

type lock struct {
	c    *redislock.Client
	held *redislock.Lock
}

func (l *lock) Acquire(ctx context.Context, key string, ttl time.Duration) (err error) {
	l.held, err = l.c.Obtain(ctx, key, ttl, nil)
	return err
}

func (l *lock) Release(ctx context.Context, _ string) error { return l.held.Release(ctx) }

func main() {
	lines.Serve("redislock, plain", func(c *redis.Client) lines.Lock { return &lock{c: redislock.New(c)} })
}
