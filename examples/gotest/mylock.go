// Package mylock is a lock on one Redis, as many applications have one.
package mylock

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrNotHeld: the lock is no longer ours.
var ErrNotHeld = errors.New("the lock is not held")

// Locker takes locks, one at a time of each key.
type Locker struct {
	client *redis.Client
	ttl    time.Duration
	values map[string]string // key → what recognises our lock
}

// New connects to the server with its first call. A lock that is not released ends after the TTL.
func New(addr string, ttl time.Duration) *Locker {
	return &Locker{client: redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1}), ttl: ttl,
		values: map[string]string{}}
}

// take sets the key, if nobody has it, and counts the grants of the key: the
// count is the fencing token.
var take = redis.NewScript(`
if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
return redis.call('incr', KEYS[2])`)

// Lock waits for the lock until ctx is done, and returns its fencing token.
func (l *Locker) Lock(ctx context.Context, key string) (token int64, err error) {
	value := rand.Text()
	for {
		token, err := take.Run(ctx, l.client, []string{key, key + ":token"}, value, l.ttl.Milliseconds()).Int64()
		if err != nil {
			return 0, err
		}
		if token > 0 {
			l.values[key] = value
			return token, nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// free deletes the key, if it is still ours.
var free = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
return 0`)

// Unlock gives the lock back.
func (l *Locker) Unlock(ctx context.Context, key string) error {
	freed, err := free.Run(ctx, l.client, []string{key}, l.values[key]).Int64()
	if err == nil && freed == 0 {
		err = ErrNotHeld
	}
	return err
}

// UnlockCarelessly deletes the key, even if another holds it by now: a mistake of many tutorials.
func (l *Locker) UnlockCarelessly(ctx context.Context, key string) error {
	return l.client.Del(ctx, key).Err()
}

// Close closes the connections.
func (l *Locker) Close() error { return l.client.Close() }
