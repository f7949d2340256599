// A lock that asks whether the key is free, and then takes it: two clients may do so at once.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/internal/harness/testdata/locks/lines"
)

type lock struct{ c *redis.Client }

func (l lock) Acquire(ctx context.Context, key string, ttl time.Duration) error {
	if n, err := l.c.Exists(ctx, key).Result(); err != nil || n > 0 {
		return errors.Join(err, errors.New("busy"))
	}
	return l.c.Set(ctx, key, "mine", ttl).Err()
}

func (l lock) Release(ctx context.Context, key string) error { return l.c.Del(ctx, key).Err() }

func main() { lines.Serve("broken", func(c *redis.Client) lines.Lock { return lock{c} }) }
