// The lock of github.com/bsm/redislock on one Redis server, as an adapter for lockchaos.
//
//	(cd examples/go && go build -o ../../bin/golocks/ ./...)
//	lockchaos adapter test bin/golocks/redislock --service redis
//	lockchaos run quick --lock-cmd bin/golocks/redislock --service redis
//
// docs/locks/redislock.md tells what was found.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"example.com/golocks/protocol"
)

type lock struct {
	redis  *redis.Client
	client *redislock.Client
	ttl    time.Duration
	held   map[string]*redislock.Lock
	// connections tell whether a refusal may be that of a request's own first try.
	connections *protocol.Connections
}

func open(h protocol.Hello) (protocol.Lock, error) {
	connections := &protocol.Connections{}
	c := redis.NewClient(&redis.Options{
		Addr: h.Nodes[0],
		// Without it go-redis obeys no deadline, and a call hangs for as long
		// as its own timeouts say.
		ContextTimeoutEnabled: true,
		Dialer:                connections.Dial,
	})
	return &lock{redis: c, client: redislock.New(c), ttl: h.TTL, held: map[string]*redislock.Lock{},
		connections: connections}, nil
}

func (l *lock) Declare() protocol.Declaration {
	return protocol.Declaration{
		Name:     "bsm/redislock " + protocol.Version("github.com/bsm/redislock"),
		Validity: "from_invocation",                    // SET NX PX, with the TTL
		Confirms: []string{"release", "held", "renew"}, // scripts that compare the value
		Can:      []string{"cancel"},
		// What the library calls a token is random: no Token.
	}
}

// Acquire obtains again and again, one attempt at a time. With a RetryStrategy
// the library would do that itself, and a deadline that ended an attempt on its
// way would look like one that ended a pause.
func (l *lock) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	pause := func() time.Duration { return 10 * time.Millisecond }
	return protocol.Poll(ctx, pause, 200*time.Millisecond, func(ctx context.Context) error {
		began, before := time.Now(), l.connections.Ended()
		obtained, err := l.client.Obtain(ctx, key, l.ttl, nil)
		switch {
		case errors.Is(err, redislock.ErrNotObtained) && l.connections.Ended() == before:
			return protocol.Busy
		case err != nil:
			return err
		case time.Since(began) >= l.ttl: // the library does not look; an answer that comes so late is no grant
			return errors.New("the answer came after the TTL")
		}
		l.held[key] = obtained
		return nil
	})
}

// Held asks the server, which compares the value.
func (l *lock) Held(ctx context.Context, key string) error {
	if l.held[key] == nil {
		return protocol.NotHeld
	}
	left, err := l.held[key].TTL(ctx)
	if err == nil && left <= 0 {
		return protocol.NotHeld
	}
	return err
}

func (l *lock) Renew(ctx context.Context, key string) (protocol.Grant, error) {
	if l.held[key] == nil {
		return protocol.Grant{}, protocol.NotHeld
	}
	// Refresh does not look at the clock: an answer that comes when the lease is
	// over is ok all the same. Its caller's limit is what there is against that.
	ctx, cancel := context.WithTimeout(ctx, l.ttl/2)
	defer cancel()
	began := protocol.Now()
	err := l.held[key].Refresh(ctx, l.ttl, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		err = protocol.NotHeld
	}
	return protocol.Grant{Attempt: began}, err
}

func (l *lock) Release(ctx context.Context, key string) error {
	before := l.connections.Ended()
	err := l.held[key].Release(ctx) // of nil as well
	if errors.Is(err, redislock.ErrLockNotHeld) && l.connections.Ended() == before {
		err = protocol.NotHeld
	}
	delete(l.held, key)
	return err
}

func (l *lock) Close(context.Context) error { return l.redis.Close() }

func main() { protocol.Main(open) }
