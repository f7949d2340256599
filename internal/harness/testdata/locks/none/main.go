// A lock that grants every key to everybody: what it breaks shows in every run.
package main

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/internal/harness/testdata/locks/lines"
)

type lock struct{ c *redis.Client }

func (l lock) Acquire(ctx context.Context, key string, ttl time.Duration) error {
	return l.c.Set(ctx, key, "mine", ttl).Err()
}

func (l lock) Release(ctx context.Context, key string) error { return l.c.Del(ctx, key).Err() }

func main() { lines.Serve("none", func(c *redis.Client) lines.Lock { return lock{c} }) }
