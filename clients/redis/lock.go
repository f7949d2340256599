package redis

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/internal/cutter"
	"github.com/lockchaos/lockchaos/clients/internal/redisconn"
	"github.com/lockchaos/lockchaos/internal/endpoint/redisurl"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Setnx is the lock redis-setnx.
var Setnx = clients.Kind{
	Name:    "redis-setnx",
	About:   "SET NX PX with a random value on one Redis, released by a compare-and-delete script",
	Service: "redis",
	Claims: clients.Claims{Validity: "from_invocation", Token: "none", Confirms: []string{"renew", "release", "held"},
		Permits: 1, Identity: "unique"},
	Open: clients.With(OpenRenewable, Algorithm{}),
}

// SetnxFenced is the lock redis-setnx-fenced.
var SetnxFenced = clients.Kind{
	Name:    "redis-setnx-fenced",
	About:   "redis-setnx with a fencing token from a counter, incremented by the script that takes the key",
	Service: "redis",
	Claims: clients.Claims{Validity: "from_invocation", Token: "fencing",
		Confirms: []string{"renew", "release", "held"}, Permits: 1, Identity: "unique"},
	Open: clients.With(OpenRenewable, Algorithm{Take: takeFenced}),
}

type lock struct {
	client goredis.UniversalClient
	cutter *cutter.Cutter
	how    Algorithm
	addr   string
	ttl    time.Duration
	number int // the client's, for values that a human can read in the server
	jitter *mathrand.Rand
	grace  time.Duration // of an attempt in progress when the context ends
}

// Open makes a client of the algorithm on one server. It connects with the first call.
func Open(c clients.Config, how Algorithm) (clients.Lock, error) { return open(c, how) }

func open(c clients.Config, how Algorithm) (*lock, error) {
	l, err := unconnected(c, how)
	if err != nil {
		return nil, err
	}
	l.client, l.addr, err = redisurl.Client(c.Nodes, l.cutter.Dial, nil)
	return l, err
}

// unconnected makes a lock that has no client yet.
func unconnected(c clients.Config, how Algorithm) (*lock, error) {
	ttl := c.TTL
	if ttl < time.Millisecond {
		return nil, fmt.Errorf("a TTL of %v; redis expires keys by whole milliseconds, configure at least one", ttl)
	}
	return &lock{cutter: new(cutter.Cutter), how: how.complete(), ttl: ttl, number: c.Client,
		grace:  min(ttl/5, 100*time.Millisecond),
		jitter: mathrand.New(mathrand.NewPCG(c.Seed, uint64(c.Client)))}, nil
}

// secret is what recognises a grant: the value under its key. since is when the attempt that took
// it began, by the process's own clock: what the lock itself decides, it decides by the clock that
// an application has. It can be compared: locks that are made of this one tell grants apart by it.
type secret struct {
	value string
	since time.Time
	set   *keySet
}

// Acquire polls until the key is taken or ctx is done.
func (l *lock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.acquire(ctx, l.request(key, newValue(l.number)))
}

func (l *lock) acquire(ctx context.Context, r Request) (clients.Grant, error) {
	g := clients.Grant{Key: r.Key}
	var asked int64   // when the first answered attempt began
	last := ctx.Err() // of the last attempt; nil when the server answered that the key is taken
	pause := l.pauses()
	for ctx.Err() == nil {
		start, since := monotime.Now(), time.Now()
		r.Again = g.First != 0
		var a Answer
		a, last = l.attempt(ctx, r)
		if a.Enqueued {
			g.Enqueued = monotime.Now()
		}
		if a.Taken && time.Since(since) < l.ttl {
			g.Token, g.Attempt, g.Secret = a.Token, start, secret{r.Value, since, r.set}
			if g.First == 0 {
				g.First = start
			}
			return g, nil
		}
		if a.Taken {
			last = l.tooLate(ctx, r)
		}
		switch {
		case last == nil && asked == 0:
			asked = start
		case last != nil && g.First == 0 && !redisconn.NotSent(last):
			g.First = start
		}
		_ = clients.Wait(ctx, pause())
	}
	return l.giveUp(ctx, r, clients.Grant{Key: r.Key, First: g.First}, asked, last)
}

// attempt tries once. It outlives the context by the grace.
func (l *lock) attempt(ctx context.Context, r Request) (Answer, error) {
	ctx, cancel := clients.WithGrace(ctx, l.grace)
	defer cancel()
	defer l.cutter.Watch(ctx)()
	return l.how.Take(ctx, r)
}

// tooLate gives back what the answer granted so late that its lease may be
// over: the key counts from the attempt's start, and its value at the server
// may go at any moment. Its error is that of an attempt that is open.
func (l *lock) tooLate(ctx context.Context, r Request) error {
	ctx, cancel := clients.WithGrace(ctx, l.grace)
	defer cancel()
	_, err := l.free(ctx, r)
	return err
}

// giveUp says why there is no grant. With an attempt open it first deletes what may
// have been taken, as far as that can be done soon; the error stays open all the same,
// since a request that is still on its way may be carried out later. A waiter that
// stands in a queue leaves it; if that is not answered, it stands there for a while.
func (l *lock) giveUp(ctx context.Context, r Request, g clients.Grant, asked int64, last error) (clients.Grant, error) {
	open, queued := g.First != 0, l.how.Queues && asked != 0
	var undo error
	if open || queued {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.grace)
		defer cancel()
		if _, err := l.free(clean, r); err != nil {
			undo = fmt.Errorf("and cleaning up: %w", err)
		}
	}
	switch {
	case open:
		return g, fmt.Errorf("acquire %q from redis at %s: an attempt was not answered, it may hold the key until its TTL of %v ends: %w",
			r.Key, l.addr, l.ttl, errors.Join(last, undo))
	case undo != nil:
		g.First = asked
		return g, fmt.Errorf("acquire %q from redis at %s: gave up waiting, and may stand in the queue for a TTL of %v: %w", r.Key, l.addr, l.ttl, undo)
	case last == nil:
		last = clients.ErrBusy
	}
	return g, fmt.Errorf("acquire %q from redis at %s: %w", r.Key, l.addr, last)
}

// Release deletes the key if it still has the grant's value.
func (l *lock) Release(ctx context.Context, g clients.Grant) error {
	s, ok := g.Secret.(secret)
	if !ok {
		return fmt.Errorf("release %q: the grant is not one of this lock's: %w", g.Key, clients.ErrNotHeld)
	}
	err := ctx.Err() // over already: nothing is sent
	freed := false
	if err == nil {
		freed, err = l.free(ctx, l.again(g, s))
	}
	if err == nil && !freed {
		err = clients.ErrNotHeld
	}
	if err != nil {
		return fmt.Errorf("release %q at redis %s: %w", g.Key, l.addr, err)
	}
	return nil
}

func (l *lock) free(ctx context.Context, r Request) (freed bool, err error) {
	defer l.cutter.Watch(ctx)()
	return l.how.Free(ctx, r)
}

// Held asks the server whether the key still has the grant's value.
func (l *lock) Held(ctx context.Context, g clients.Grant) error {
	s, _ := g.Secret.(secret)
	defer l.cutter.Watch(ctx)()
	has, err := l.how.Has(ctx, l.again(g, s))
	switch {
	case err != nil:
		return fmt.Errorf("ask redis at %s who holds %q: %w", l.addr, g.Key, err)
	case !has:
		return fmt.Errorf("%q at redis %s is no longer ours: %w", g.Key, l.addr, clients.ErrNotHeld)
	}
	return nil
}

func (l *lock) request(key, value string) Request {
	return Request{Client: l.client, Key: key, Value: value, TTL: l.ttl}
}

// again is a request about a grant.
func (l *lock) again(g clients.Grant, s secret) Request {
	r := l.request(g.Key, s.value)
	r.set = s.set
	return r
}

// Close gives up the connections. What is held stays so until it expires: only
// the TTL frees the lock of a client that went away.
func (l *lock) Close(context.Context) error {
	if err := l.client.Close(); err != nil {
		return fmt.Errorf("close the connections to redis at %s: %w", l.addr, err)
	}
	return nil
}

// newValue is random beyond any plan's seed: two incarnations of a client must never share a value.
func newValue(client int) string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	return fmt.Sprintf("c%d-%s", client, hex.EncodeToString(b[:]))
}

// pauses returns the pauses between attempts: random, so that waiters do not move
// in step, and growing, so that a crowd of them does not keep the server busy.
func (l *lock) pauses() func() time.Duration {
	limit, longest := 4*time.Millisecond, max(l.ttl/20, 2*time.Millisecond)
	return func() time.Duration {
		limit = min(limit, longest)
		d := limit/2 + time.Duration(l.jitter.Int64N(int64(limit/2)))
		limit *= 2
		return d
	}
}
