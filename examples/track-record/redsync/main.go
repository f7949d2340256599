// The mutex of redsync on one Redis server, as an adapter for lockchaos (docs/protocol.md). go.mod
// says which version: v4.0.3, or with go get github.com/go-redsync/redsync/v4@v4.17.0 another one.
//
//	go build -o ../../../bin/redsync .
//	lockchaos run ../redsync-extend.yaml --lock-cmd ../../../bin/redsync --service redis
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-redis/redis/v8"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v8"

	"example.com/golocks/protocol"
)

// lock is one client, with the mutexes that it holds.
type lock struct {
	sync *redsync.Redsync
	ttl  time.Duration
	held map[string]*redsync.Mutex
}

func open(h protocol.Hello) (protocol.Lock, error) {
	client := redis.NewClient(&redis.Options{Addr: h.Nodes[0], MaxRetries: -1})
	return &lock{sync: redsync.New(goredis.NewPool(client)), ttl: h.TTL, held: map[string]*redsync.Mutex{}}, nil
}

func (l *lock) Declare() protocol.Declaration {
	return protocol.Declaration{
		Name:     "redsync " + protocol.Version("github.com/go-redsync/redsync/v4"),
		Validity: "from_invocation",
		// Documented: Extend returns the status of the extension, Unlock that of the unlocking.
		Confirms: []string{"renew", "release"},
	}
}

// Acquire tries every 10 ms, until the time is over.
func (l *lock) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	deadline, _ := ctx.Deadline()
	const pause = 10 * time.Millisecond
	m := l.sync.NewMutex(key, redsync.WithExpiry(l.ttl), redsync.WithTries(int(time.Until(deadline)/pause)),
		redsync.WithRetryDelay(pause))
	if err := m.LockContext(ctx); err != nil {
		return protocol.Grant{}, err // which does not tell whether another has it
	}
	l.held[key] = m
	return protocol.Grant{}, nil
}

func (l *lock) Renew(ctx context.Context, key string) (protocol.Grant, error) {
	m := l.held[key]
	if m == nil {
		return protocol.Grant{}, protocol.NotHeld
	}
	return protocol.Grant{}, status(m.ExtendContext(ctx))
}

func (l *lock) Release(ctx context.Context, key string) error {
	m := l.held[key]
	delete(l.held, key)
	if m == nil {
		return protocol.NotHeld
	}
	return status(m.UnlockContext(ctx))
}

// status is what the library says that became of it.
func status(ok bool, err error) error {
	if ok {
		return nil
	}
	fmt.Fprintln(os.Stderr, err)
	return protocol.NotHeld
}

func (l *lock) Close(context.Context) error { return nil }

func main() { protocol.Main(open) }
