// The mutex of github.com/go-redsync/redsync/v4 on five independent Redis
// servers, as an adapter for lockchaos.
//
//	(cd examples/go && go build -o ../../bin/golocks/ ./...)
//	lockchaos adapter test bin/golocks/redsync --service redis-five
//	lockchaos run quick --lock-cmd bin/golocks/redsync --service redis-five
//
// docs/locks/redsync.md tells what was found.
package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/go-redsync/redsync/v4"
	syncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"example.com/golocks/protocol"
)

const library = "github.com/go-redsync/redsync/v4"

type lock struct {
	servers []*redis.Client
	sync    *redsync.Redsync
	ttl     time.Duration
	held    map[string]*redsync.Mutex
	// connections tell whether every command was answered, and sent once. The
	// library's errors do not.
	connections protocol.Connections
}

func open(h protocol.Hello) (protocol.Lock, error) {
	l := &lock{ttl: h.TTL, held: map[string]*redsync.Mutex{}}
	var pools []syncredis.Pool
	for _, addr := range h.Nodes {
		c := redis.NewClient(&redis.Options{
			Addr: addr,
			// Without it go-redis obeys no context, and the library's limit for
			// a try (a twentieth of the expiry) means nothing.
			ContextTimeoutEnabled: true,
			Dialer:                l.connections.Dial,
		})
		l.servers = append(l.servers, c)
		pools = append(pools, goredis.NewPool(c))
	}
	l.sync = redsync.New(pools...)
	return l, nil
}

func (l *lock) Declare() protocol.Declaration {
	return protocol.Declaration{
		Name:     "redsync " + protocol.Version(library),
		Validity: "library", // Until
		// Documented: each returns the status. A majority had the value, which
		// every try draws anew.
		Confirms: []string{"release", "renew"},
		Can:      []string{"cancel"},
		// Value is random: no Token.
	}
}

// Acquire makes one try after the other. LockContext would do that too; but a
// context that ends in the middle of a try leaves what the try has taken, for
// the library gives it back under the same context.
func (l *lock) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	m := l.sync.NewMutex(key, redsync.WithExpiry(l.ttl))
	// The library's own limits: a twentieth of the expiry to take, another to give back.
	g, err := protocol.Poll(ctx, l.pause, l.ttl, func(ctx context.Context) error {
		before := l.connections.Ended()
		err := m.TryLockContext(ctx)
		// every server has said what it did, and what was taken has been given back
		if err != nil && l.connections.Ended() == before {
			return protocol.Busy
		}
		return err
	})
	if err == nil {
		g.ValidFor = protocol.ValidFor(g.Attempt, m.Until())
		l.held[key] = m
	}
	return g, err
}

// pause is drawn in the library's own proportion to the expiry: 50 to 250 ms for its 8 s.
func (l *lock) pause() time.Duration { return l.ttl/160 + rand.N(l.ttl/40) }

func (l *lock) Renew(ctx context.Context, key string) (protocol.Grant, error) {
	m := l.held[key]
	if m == nil {
		return protocol.Grant{}, protocol.NotHeld
	}
	began := protocol.Now()
	if err := l.sure(m.ExtendContext, ctx); err != nil {
		return protocol.Grant{}, err
	}
	return protocol.Grant{Attempt: began, ValidFor: protocol.ValidFor(began, m.Until())}, nil
}

func (l *lock) Release(ctx context.Context, key string) error {
	m := l.held[key]
	if m == nil {
		return protocol.NotHeld
	}
	delete(l.held, key)
	return l.sure(m.UnlockContext, ctx)
}

// sure tells a majority that refused from one that did not answer.
func (l *lock) sure(ask func(context.Context) (bool, error), ctx context.Context) error {
	before := l.connections.Ended()
	ok, err := ask(ctx)
	switch {
	case ok:
		return nil
	case l.connections.Ended() == before:
		return protocol.NotHeld
	case err == nil:
		err = errors.New("no majority answered")
	}
	return err
}

func (l *lock) Close(context.Context) error {
	var errs []error
	for _, c := range l.servers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

func main() { protocol.Main(open) }
