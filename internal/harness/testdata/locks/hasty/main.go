// A lock that frees its key only if it is its own, but after an error of its connection frees it
// without asking. That is wrong only if its lease is over by then: it takes two faults.
package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/internal/harness/testdata/locks/lines"
)

// free deletes the key if it is the client's own.
const free = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`

type lock struct {
	c     *redis.Client
	owner string
}

func (l *lock) Acquire(ctx context.Context, key string, ttl time.Duration) error {
	l.owner = strconv.FormatInt(time.Now().UnixNano(), 36)
	taken, err := l.c.SetNX(ctx, key, l.owner, ttl).Result()
	if err == nil && !taken {
		err = errors.New("busy")
	}
	return err
}

func (l *lock) Release(ctx context.Context, key string) error {
	err := l.c.Eval(ctx, free, []string{key}, l.owner).Err()
	if err != nil {
		err = l.c.Del(ctx, key).Err()
	}
	return err
}

func main() {
	lines.Serve("hasty", func(c *redis.Client) lines.Lock {
		once := *c.Options()
		once.MaxRetries = -1
		return &lock{c: redis.NewClient(&once)}
	})
}
