// The locker of github.com/go-co-op/gocron-redis-lock/v2 on one Redis server, as an adapter for
// lockchaos. It is called as gocron's scheduler calls it: Lock before the job, Unlock after it.
package main

import (
	"context"
	"time"

	redislock "github.com/go-co-op/gocron-redis-lock/v2"
	"github.com/go-co-op/gocron/v2"
	"github.com/redis/go-redis/v9"

	"example.com/golocks/protocol"
)

type lock struct {
	locker      gocron.Locker
	connections protocol.Connections
	held        map[string]gocron.Lock
}

func open(h protocol.Hello) (protocol.Lock, error) {
	l := &lock{held: map[string]gocron.Lock{}}
	c := redis.NewClient(&redis.Options{Addr: h.Nodes[0], Dialer: l.connections.Dial})
	var err error
	l.locker, err = redislock.NewRedisLockerWithOptions(c,
		redislock.WithAutoExtendDuration(h.TTL/3),
		redislock.WithRedsyncOptions(redislock.WithTries(1), redislock.WithExpiry(h.TTL)),
	)
	return l, err
}

func (l *lock) Declare() protocol.Declaration {
	return protocol.Declaration{
		Name:     "gocron-redis-lock " + protocol.Version("github.com/go-co-op/gocron-redis-lock/v2"),
		Validity: "session",           // "The lock is held for the duration of the job's run"
		Confirms: []string{"release"}, // a script that compares the value; its answer is returned
		Can:      []string{"cancel"},
	}
}

// Acquire tries again and again. The library's error is the same for a lock that is taken and
// for a server that does not answer: what tells them apart is whether a connection ended.
func (l *lock) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	return protocol.Poll(ctx, func() time.Duration { return 20 * time.Millisecond }, 200*time.Millisecond,
		func(ctx context.Context) error {
			before := l.connections.Ended()
			held, err := l.locker.Lock(ctx, key)
			if err != nil && l.connections.Ended() == before {
				return protocol.Busy
			}
			if err == nil {
				l.held[key] = held
			}
			return err
		})
}

func (l *lock) Release(ctx context.Context, key string) error {
	held := l.held[key]
	delete(l.held, key)
	if held == nil {
		return protocol.NotHeld
	}
	return held.Unlock(ctx)
}

func (l *lock) Close(context.Context) error { return nil }

func main() { protocol.Main(open) }
