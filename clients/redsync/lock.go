package redsync

import (
	"context"
	"errors"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	syncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis9 "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/internal/redisconn"
	"github.com/lockchaos/lockchaos/internal/endpoint/redisurl"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Redsync is the lock redsync.
var Redsync = clients.Kind{
	Name:    "redsync",
	About:   "the library go-redsync/redsync v4: Redlock on five independent Redis, valid until what the library says",
	Service: "redis-five",
	Claims:  clients.Claims{Validity: "library", Tolerates: "minority", Token: "none", Permits: 1},
	Open:    open,
}

type lock struct {
	library *redsync.Redsync
	clients []*goredis9.Client
	trace   *trace
	addrs   string
	ttl     time.Duration
	jitter  *mathrand.Rand
}

// minTTL is the shortest TTL of which the library's timeout, a twentieth, is a millisecond.
const minTTL = 20 * time.Millisecond

// longestAnswer is go-redis's own limit for an answer.
const longestAnswer = 3 * time.Second

// open makes the clients. They connect with the first call.
func open(_ context.Context, c clients.Config) (clients.Lock, error) {
	ttl, addrs := c.TTL, strings.Join(c.Nodes, ",")
	if len(c.Nodes) < 3 {
		return nil, fmt.Errorf("redsync was given %d servers (%s); a majority that outlives a server needs three or more", len(c.Nodes), addrs)
	}
	if ttl < minTTL {
		return nil, fmt.Errorf("redsync at %s: a TTL of %v; the timeout of a try is a twentieth of it, configure %v or more", addrs, ttl, minTTL)
	}
	l := &lock{trace: &trace{nodes: make([]nodeTrace, len(c.Nodes))}, addrs: addrs, ttl: ttl,
		jitter: mathrand.New(mathrand.NewPCG(c.Seed, uint64(c.Client)))}
	var pools []syncredis.Pool
	for i, addr := range c.Nodes {
		options, err := redisurl.Options(addr, nil)
		if err != nil {
			return nil, err
		}
		options.DialTimeout = ttl / 10
		options.ReadTimeout, options.WriteTimeout = min(ttl, longestAnswer), min(ttl, longestAnswer)
		client := goredis9.NewClient(options)
		client.AddHook(l.trace.observer(i))
		l.clients = append(l.clients, client)
		pools = append(pools, goredis.NewPool(client))
	}
	l.library = redsync.New(pools...)
	return l, nil
}

// Acquire lets the library try until ctx is done, and finish the try that is then in progress.
func (l *lock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	if err := ctx.Err(); err != nil { // over already: nothing is sent
		return clients.Grant{Key: key}, fmt.Errorf("acquire %q from a majority of %s: %w", key, l.addrs, err)
	}
	m := l.library.NewMutex("lock:{"+key+"}", redsync.WithExpiry(l.ttl), redsync.WithTries(math.MaxInt32),
		redsync.WithRetryDelayFunc(l.delay))
	tries, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	l.trace.begin(stop)
	defer context.AfterFunc(ctx, l.trace.End)()
	err := m.LockContext(tries)
	if err == nil {
		// The value was taken by a majority in the last try, so the grant is no older than that.
		start := l.trace.start
		return clients.Grant{Key: key, Attempt: start, First: start, Secret: m, ValidFor: validFor(start, m.Until()),
			HasValidFor: true}, nil
	}
	first := l.trace.left()
	switch {
	case first != 0:
		err = fmt.Errorf("a try may have left keys until their TTL of %v ends: %w", l.ttl, err)
	case l.trace.refused():
		err = clients.ErrBusy
	}
	return clients.Grant{Key: key, First: first}, fmt.Errorf("acquire %q from a majority of %s: %w", key, l.addrs, err)
}

// validFor is for how long the library says that a grant is good, from its attempt until the
// instant, which the library gives by the client's clock. The true clock is read first, so that a
// stop in between makes the time shorter, never longer. If nothing is left, it is what is left.
func validFor(attempt int64, until time.Time) int64 {
	passed := monotime.Since(attempt)
	left := time.Until(until)
	if left <= 0 {
		return int64(left)
	}
	return int64(passed + left)
}

// delay is the pause before another try, in the library's own proportion to the
// expiry, but drawn from the plan's seed.
func (l *lock) delay(int) time.Duration {
	l.trace.pause()
	shortest, longest := l.ttl/160, l.ttl/32
	return shortest + time.Duration(l.jitter.Int64N(int64(longest-shortest)))
}

// Release unlocks. It waits for a TTL at most, when there is nothing left to release.
func (l *lock) Release(ctx context.Context, g clients.Grant) error {
	m, ok := g.Secret.(*redsync.Mutex)
	if !ok {
		return fmt.Errorf("release %q: the grant is not one of this lock's: %w", g.Key, clients.ErrNotHeld)
	}
	if err := ctx.Err(); err != nil { // over already: nothing is sent
		return fmt.Errorf("release %q at %s: %w", g.Key, l.addrs, err)
	}
	ctx, cancel := context.WithTimeout(ctx, l.ttl)
	defer cancel()
	l.trace.begin(cancel)
	if done, err := m.UnlockContext(ctx); !done {
		return fmt.Errorf("release %q at %s: %w", g.Key, l.addrs, l.notReleased(err))
	}
	return nil
}

// notReleased says what it means that a majority did not delete the value.
func (l *lock) notReleased(err error) error {
	answered := 0
	for _, n := range l.trace.nodes {
		if n.del == redisconn.No {
			answered++
		}
	}
	if answered > len(l.trace.nodes)-(len(l.trace.nodes)/2+1) {
		return fmt.Errorf("%w: %w", clients.ErrNotHeld, err)
	}
	return err
}

// Close gives up the connections. What is held stays so until it expires.
func (l *lock) Close(context.Context) error {
	var failed []error
	for _, c := range l.clients {
		if err := c.Close(); err != nil {
			failed = append(failed, fmt.Errorf("close the connections to redis at %s: %w", c.Options().Addr, err))
		}
	}
	return errors.Join(failed...)
}
