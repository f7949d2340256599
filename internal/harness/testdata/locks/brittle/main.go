// A lock whose program ends when its clock has been set back.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/internal/harness/testdata/locks/lines"
)

type lock struct {
	c    *redis.Client
	seen time.Time
}

func (l *lock) Acquire(ctx context.Context, key string, ttl time.Duration) error {
	l.look()
	taken, err := l.c.SetNX(ctx, key, "mine", ttl).Result()
	if err == nil && !taken {
		return errors.New("busy")
	}
	return err
}

func (l *lock) Release(ctx context.Context, key string) error {
	l.look()
	return l.c.Del(ctx, key).Err()
}

func (l *lock) look() {
	now := time.Now().Round(0) // the wall clock
	if now.Before(l.seen) {
		panic("the clock was set back")
	}
	l.seen = now
}

func main() { lines.Serve("brittle", func(c *redis.Client) lines.Lock { return &lock{c: c} }) }
