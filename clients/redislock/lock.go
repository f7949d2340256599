package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/internal/redisconn"
	"github.com/lockchaos/lockchaos/internal/endpoint/redisurl"
)

// Redislock is the lock redislock.
var Redislock = clients.Kind{
	Name:    "redislock",
	About:   "the library bsm/redislock: SET NX PX with a random value on one Redis, released by a compare-and-delete script",
	Service: "redis",
	Claims: clients.Claims{Validity: "from_invocation", Token: "none", Confirms: []string{"release", "held"},
		Permits: 1},
	Open: open,
}

type lock struct {
	client  goredis.UniversalClient
	library *redislock.Client
	trace   *trace
	addr    string
	ttl     time.Duration
	grace   time.Duration // of an attempt in progress when the context ends
}

// longestAnswer is go-redis's own limit for an answer.
const longestAnswer = 3 * time.Second

// open makes the client. It connects with the first call.
func open(_ context.Context, c clients.Config) (clients.Lock, error) {
	ttl := c.TTL
	if ttl < time.Millisecond {
		return nil, fmt.Errorf("a TTL of %v; redis expires keys by whole milliseconds, configure at least one", ttl)
	}
	client, addr, err := redisurl.Client(c.Nodes, nil, func(o *goredis.Options) {
		o.ReadTimeout, o.WriteTimeout = min(ttl, longestAnswer), min(ttl, longestAnswer)
	})
	if err != nil {
		return nil, err
	}
	l := &lock{client: client, trace: &trace{backoff: redislock.LinearBackoff(max(ttl/50, time.Millisecond))}, addr: addr,
		ttl: ttl, grace: min(ttl/5, 100*time.Millisecond)}
	l.client.AddHook(redisconn.Observer{Sending: l.trace.Sending, Done: l.trace.done})
	l.library = redislock.New(l.client)
	return l, nil
}

// Acquire lets the library try until ctx is done.
func (l *lock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	if err := ctx.Err(); err != nil { // over already: nothing is sent
		return clients.Grant{Key: key}, fmt.Errorf("obtain %q from redis at %s: %w", key, l.addr, err)
	}
	patient, stop := l.patient(ctx)
	defer stop()
	l.trace.begin(stop)
	defer context.AfterFunc(ctx, l.trace.End)()
	obtained, err := l.library.Obtain(patient, lockKey(key), l.ttl, &redislock.Options{RetryStrategy: l.trace})
	if err == nil {
		start := l.trace.start
		return clients.Grant{Key: key, Attempt: start, First: start, Secret: obtained}, nil
	}
	g := clients.Grant{Key: key}
	switch {
	case l.trace.open:
		g.First = l.trace.start
		err = fmt.Errorf("an attempt was not answered, it may hold the key until its TTL of %v ends: %w", l.ttl, err)
	case l.trace.busy && errors.Is(err, context.Canceled): // in a pause, so the last thing heard was no
		err = clients.ErrBusy
	}
	return g, fmt.Errorf("obtain %q from redis at %s: %w", key, l.addr, err)
}

// forEver is longer than any acquire: without a deadline the library would give up after a TTL.
const forEver = 24 * time.Hour

// patient returns the context for the library: without a cancellation of its
// own, with a deadline that leaves an attempt in progress the grace.
func (l *lock) patient(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, limited := ctx.Deadline()
	if !limited {
		deadline = time.Now().Add(forEver)
	}
	return context.WithDeadline(context.WithoutCancel(ctx), deadline.Add(l.grace))
}

// Release gives the lock back.
func (l *lock) Release(ctx context.Context, g clients.Grant) error {
	obtained, ok := g.Secret.(*redislock.Lock)
	if !ok {
		return fmt.Errorf("release %q: the grant is not one of this lock's: %w", g.Key, clients.ErrNotHeld)
	}
	err := obtained.Release(ctx)
	if errors.Is(err, redislock.ErrLockNotHeld) {
		err = fmt.Errorf("%w: %w", clients.ErrNotHeld, err)
	}
	if err != nil {
		return fmt.Errorf("release %q at redis %s: %w", g.Key, l.addr, err)
	}
	return nil
}

// Held asks the server how long the lock will stand.
func (l *lock) Held(ctx context.Context, g clients.Grant) error {
	obtained, ok := g.Secret.(*redislock.Lock)
	if !ok {
		return fmt.Errorf("%q: the grant is not one of this lock's: %w", g.Key, clients.ErrNotHeld)
	}
	left, err := obtained.TTL(ctx)
	if err != nil {
		return fmt.Errorf("ask redis at %s who holds %q: %w", l.addr, g.Key, err)
	}
	if left <= 0 {
		return fmt.Errorf("%q at redis %s is no longer ours: %w", g.Key, l.addr, clients.ErrNotHeld)
	}
	return nil
}

// Close gives up the connections. What is held stays so until it expires.
func (l *lock) Close(context.Context) error {
	if err := l.client.Close(); err != nil {
		return fmt.Errorf("close the connections to redis at %s: %w", l.addr, err)
	}
	return nil
}

func lockKey(key string) string { return "lock:{" + key + "}" }
