package redis

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/monotime"
)

// Setnx is the lock redis-setnx.
var Setnx = clients.Kind{
	Name:    "redis-setnx",
	About:   "SET NX PX with a random value on one Redis, released by a compare-and-delete script",
	Service: "redis",
	Claims:  clients.Claims{Validity: "from_invocation", Token: "none", Confirms: []string{"release"}, Permits: 1},
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		return open(c, takeSetnx)
	},
}

// SetnxFenced is the lock redis-setnx-fenced.
var SetnxFenced = clients.Kind{
	Name:    "redis-setnx-fenced",
	About:   "redis-setnx with a fencing token from a counter, incremented by the script that takes the key",
	Service: "redis",
	Claims:  clients.Claims{Validity: "from_invocation", Token: "fencing", Confirms: []string{"release"}, Permits: 1},
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		return open(c, takeFenced)
	},
}

// take is one attempt to take the key for the value. again says that an earlier attempt with this value is open, so the key may
// already be ours. The token is 0 where the lock has none.
type take func(ctx context.Context, l *lock, key, value string, again bool) (token int64, taken bool, err error)

type lock struct {
	client *goredis.Client
	cutter *cutter
	take   take
	addr   string
	ttl    time.Duration
	number int // the client's, for values that a human can read in the server
	jitter *mathrand.Rand
	grace  time.Duration // of an attempt in progress when the context ends
}

// open makes the client. It connects with the first call.
func open(c clients.Config, how take) (*lock, error) {
	ttl := time.Duration(c.TTL)
	if len(c.Nodes) != 1 {
		return nil, fmt.Errorf("a lock on one redis server was given %d addresses; configure exactly one", len(c.Nodes))
	}
	if ttl < time.Millisecond {
		return nil, fmt.Errorf("redis at %s: a TTL of %v; redis expires keys by whole milliseconds, configure at least one", c.Nodes[0], ttl)
	}
	l := &lock{cutter: new(cutter), take: how, addr: c.Nodes[0], ttl: ttl, number: c.Client, grace: min(ttl/5, 100*time.Millisecond),
		jitter: mathrand.New(mathrand.NewPCG(c.Seed, uint64(c.Client)))}
	l.client = newClient(l.addr, l.cutter.dial)
	return l, nil
}

// newClient makes a client whose calls end with their context. dial is nil for calls that heed a deadline only.
func newClient(addr string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *goredis.Client {
	return goredis.NewClient(&goredis.Options{
		Addr:          addr,
		Dialer:        dial,
		Protocol:      2,
		MaxRetries:    -1, // a hidden retry could take the key twice
		DialerRetries: 1,
		PoolSize:      2,                    // one call at a time; one more for a connection that is still being given up
		ReadTimeout:   -1, WriteTimeout: -1, // the context decides
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// secret is what recognises a grant: the value under its key. since is when the attempt that took it began, by the process's own
// clock: what the lock itself decides, it decides by the clock that an application has.
type secret struct {
	value string
	since time.Time
}

// Acquire polls until the key is taken or ctx is done.
func (l *lock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	value := l.newValue()
	g := clients.Grant{Key: key}
	last := ctx.Err() // of the last attempt; nil when the server answered that the key is taken
	pause := l.pauses()
	for ctx.Err() == nil {
		start, since := monotime.Now(), time.Now()
		var taken bool
		g.Token, taken, last = l.attempt(ctx, key, value, g.First != 0)
		if taken {
			g.Attempt, g.Secret = start, secret{value, since}
			if g.First == 0 {
				g.First = start
			}
			return g, nil
		}
		if last != nil && g.First == 0 && !notSent(last) {
			g.First = start
		}
		wait(ctx, pause())
	}
	return clients.Grant{Key: key, First: g.First}, l.giveUp(ctx, key, value, g.First != 0, last)
}

// attempt tries once. It outlives the context by the grace.
func (l *lock) attempt(ctx context.Context, key, value string, again bool) (token int64, taken bool, err error) {
	ctx, cancel := withGrace(ctx, l.grace)
	defer cancel()
	defer l.cutter.watch(ctx)()
	return l.take(ctx, l, key, value, again)
}

// giveUp says why there is no grant. With an attempt open it first deletes what may have been taken, as far as that can
// be done soon; the error stays open all the same, since a request that is still on its way may be carried out later.
func (l *lock) giveUp(ctx context.Context, key, value string, open bool, last error) error {
	if open {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.grace)
		defer cancel()
		_, undo := l.compareAndDelete(clean, key, value)
		if undo != nil {
			undo = fmt.Errorf("and cleaning up: %w", undo)
		}
		return fmt.Errorf("acquire %q from redis at %s: an attempt was not answered, it may hold the key until its TTL of %v ends: %w",
			key, l.addr, l.ttl, errors.Join(last, undo))
	}
	if last == nil {
		return fmt.Errorf("acquire %q from redis at %s: %w", key, l.addr, clients.ErrBusy)
	}
	return fmt.Errorf("acquire %q from redis at %s: %w", key, l.addr, last)
}

// Release deletes the key if it still has the grant's value.
func (l *lock) Release(ctx context.Context, g clients.Grant) error {
	s, ok := g.Secret.(secret)
	if !ok {
		return fmt.Errorf("release %q: the grant is not one of this lock's: %w", g.Key, clients.ErrNotHeld)
	}
	err := ctx.Err() // over already: nothing is sent
	deleted := false
	if err == nil {
		deleted, err = l.compareAndDelete(ctx, g.Key, s.value)
	}
	if err == nil && !deleted {
		err = clients.ErrNotHeld
	}
	if err != nil {
		return fmt.Errorf("release %q at redis %s: %w", g.Key, l.addr, err)
	}
	return nil
}

// Held asks the server whether the key still has the grant's value.
func (l *lock) Held(ctx context.Context, g clients.Grant) error {
	s, _ := g.Secret.(secret)
	defer l.cutter.watch(ctx)()
	value, err := l.client.Get(ctx, lockKey(g.Key)).Result()
	switch {
	case errors.Is(err, goredis.Nil), err == nil && value != s.value:
		return fmt.Errorf("%q at redis %s is no longer ours: %w", g.Key, l.addr, clients.ErrNotHeld)
	case err != nil:
		return fmt.Errorf("ask redis at %s who holds %q: %w", l.addr, g.Key, err)
	}
	return nil
}

// Close gives up the connections. What is held stays so until it expires: only the TTL frees the lock of a client that went away.
func (l *lock) Close(context.Context) error {
	if err := l.client.Close(); err != nil {
		return fmt.Errorf("close the connections to redis at %s: %w", l.addr, err)
	}
	return nil
}

// newValue is random beyond any plan's seed: two incarnations of a client must never share a value.
func (l *lock) newValue() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	return fmt.Sprintf("c%d-%s", l.number, hex.EncodeToString(b[:]))
}

// pauses returns the pauses between attempts: random, so that waiters do not move in step, and growing, so that a crowd of
// them does not keep the server busy.
func (l *lock) pauses() func() time.Duration {
	limit, longest := 4*time.Millisecond, max(l.ttl/20, 2*time.Millisecond)
	return func() time.Duration {
		limit = min(limit, longest)
		d := limit/2 + time.Duration(l.jitter.Int64N(int64(limit/2)))
		limit *= 2
		return d
	}
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// withGrace returns a context that ends the given time after ctx does.
func withGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return later, func() {
		stop()
		cancel()
	}
}

// notSent tells whether the error says that there was no connection to send anything on.
func notSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
