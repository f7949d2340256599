package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/endpoint/redisurl"
)

// Watchdog is the lock redis-watchdog: redis-setnx with a lease that is renewed every
// third of the TTL until the grant is given back. It is the scheme that Redisson
// calls its lock watchdog (Redisson Reference Guide, "Locks and synchronizers", and
// its setting lockWatchdogTimeout), with one thing added: Redisson's locks do not
// tell the application of a lease that could not be renewed, this one does.
//
// It claims to tell of a loss within the TTL. A loss that the lock can be blamed for
// not noticing (a key deleted, or the server's data gone, while client and links are
// well) shows at the next renewal, after TTL/3 at the latest; its answer is waited for
// as long again; and a lease that no renewal confirmed is given up when nine tenths of
// the TTL are over. That it does by its own clock, counted from the sending of the
// last renewal that was confirmed, so it claims to notice alone, cut off or not.
var Watchdog = clients.Kind{
	Name:    "redis-watchdog",
	About:   "redis-setnx whose lease is renewed every TTL/3 while the client lives, with a lost-event when that fails (Redisson's scheme)",
	Service: "redis",
	Claims: clients.Claims{Validity: "session", Token: "none", Confirms: []string{"release", "held"}, Notices: "alone",
		Permits: 1},
	// One interval, one answer, and as much to spare.
	LostGrace: func(ttl time.Duration) time.Duration { return ttl },
	Renews:    true,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		return openWatchdog(c, Algorithm{})
	},
}

// watchdog is a lock with a goroutine for every grant.
type watchdog struct {
	*lock
	// renewals is a client of its own: the lock's has one call in progress at a time.
	renewals goredis.UniversalClient
	gate     *clients.Gate
	lost     chan clients.Loss
	deaf     bool // it never looks at its clock: see WatchdogDeaf

	life context.Context // until Close
	end  context.CancelFunc
	kept sync.WaitGroup

	mu    sync.Mutex
	holds map[string]*watchedGrant // by the grant's value
}

// watchedGrant is what a watchdog knows of one grant.
type watchedGrant struct {
	stop context.CancelFunc
	over bool // its loss is known
}

func openWatchdog(c clients.Config, how Algorithm) (*watchdog, error) {
	l, err := open(c, how)
	if err != nil {
		return nil, err
	}
	renewals, _, err := redisurl.Client(c.Nodes, nil, nil)
	if err != nil {
		return nil, err
	}
	w := &watchdog{lock: l, renewals: renewals, gate: c.Renewals,
		lost:  make(chan clients.Loss),
		holds: map[string]*watchedGrant{}}
	w.life, w.end = context.WithCancel(context.Background())
	return w, nil
}

// Acquire takes the key as redis-setnx does, and begins to renew it.
func (w *watchdog) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	g, err := w.lock.Acquire(ctx, key)
	if err == nil {
		w.keep(key, g.Secret.(secret))
	}
	return g, err
}

// Release stops renewing, whatever comes of the rest, and deletes the key if it
// still has the grant's value.
func (w *watchdog) Release(ctx context.Context, g clients.Grant) error {
	if s, ok := g.Secret.(secret); ok {
		w.mu.Lock()
		if h := w.holds[s.value]; h != nil {
			h.stop()
			delete(w.holds, s.value)
		}
		w.mu.Unlock()
	}
	return w.lock.Release(ctx, g)
}

// Lost tells of grants that could not be renewed.
func (w *watchdog) Lost() <-chan clients.Loss { return w.lost }

// Close stops renewing and gives up the connections. What is held stays so until it expires.
func (w *watchdog) Close(ctx context.Context) error {
	w.end()
	err := w.renewals.Close() // ends a renewal in progress
	if err != nil {
		err = fmt.Errorf("close the connection for renewals to redis at %s: %w", w.addr, err)
	}
	w.kept.Wait()
	return errors.Join(err, w.lock.Close(ctx))
}

// keep renews the grant until it is given back or lost.
func (w *watchdog) keep(key string, s secret) {
	ctx, stop := context.WithCancel(w.life)
	h := &watchedGrant{stop: stop}
	w.mu.Lock()
	w.holds[s.value] = h
	w.mu.Unlock()
	w.kept.Go(func() {
		defer stop()
		why := w.renew(ctx, key, s)
		if ctx.Err() != nil {
			return
		}
		w.mu.Lock()
		h.over = true
		w.mu.Unlock()
		// A lost-event that nobody has taken when the grant is given back is
		// withdrawn: having no token, it would be taken for a newer grant's.
		select {
		case w.lost <- clients.Loss{Key: key, Why: why}:
		case <-ctx.Done():
		}
	})
}

// renew returns why the grant is lost, or when ctx is done.
func (w *watchdog) renew(ctx context.Context, key string, s secret) (why string) {
	var last error // of the renewals since the last confirmed one
	expiry, next := w.trusted(s.since), s.since.Add(w.ttl/3)
	for {
		_ = clients.Wait(ctx, time.Until(next))
		_ = w.gate.Pass(ctx)
		began := time.Now()
		switch {
		case ctx.Err() != nil:
			return ""
		case !began.Before(expiry) && last != nil:
			return fmt.Sprintf("no renewal was confirmed, and the lease of %v is about to run out: %v", w.ttl, last)
		case !began.Before(expiry):
			return fmt.Sprintf("this client did not run in time to renew its lease of %v, it may have run out", w.ttl)
		}
		ours, err := w.extend(ctx, key, s.value, expiry)
		switch {
		case err != nil:
			last, next = err, earlier(began.Add(max(w.ttl/20, 2*time.Millisecond)), expiry)
		case !ours:
			return fmt.Sprintf("redis at %s said, asked to renew, that the key no longer has the grant's value", w.addr)
		default:
			last, expiry, next = nil, w.trusted(began), began.Add(w.ttl/3)
		}
	}
}

// trusted is until when a lease is relied upon that was asked for at an instant:
// for a tenth less than it lasts, so that its end is told while it is still ours.
func (w *watchdog) trusted(asked time.Time) time.Time {
	if w.deaf {
		return asked.Add(never)
	}
	return asked.Add(w.ttl - w.ttl/10)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// extend sends one renewal. It waits for the answer for a third of the TTL at
// most, so that a lost one can be followed by another.
func (w *watchdog) extend(ctx context.Context, key, value string, expiry time.Time) (ours bool, err error) {
	ctx, cancel := context.WithDeadline(ctx, expiry)
	defer cancel()
	ctx, cancelOne := context.WithTimeout(ctx, w.ttl/3)
	defer cancelOne()
	return w.how.Extend(ctx, Request{Client: w.renewals, Key: key, Value: value, TTL: w.ttl})
}
