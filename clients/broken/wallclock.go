package broken

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// WallClock is the control broken-wall-clock: redis-setnx that notes at which
// time of day its lease ends, and answers from that note whether it holds, as
// libraries do that keep an expiry of the form Date.now() + ttl. Where NTP, or an
// administrator, sets the clock back, the lease goes on in the client's eyes for
// as long as the clock was set back. A monotonic clock would not have been set.
var WallClock = clients.Kind{
	Name:    "broken-wall-clock",
	About:   "redis-setnx that looks at the time of day to tell whether its lease is over",
	Service: "redis",
	Claims: clients.Claims{Validity: "from_invocation", Token: "none", Confirms: []string{"release", "held"},
		Permits: 1},
	Control: checker.Continuity,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		l, err := redis.Open(c, redis.Algorithm{})
		if err != nil {
			return nil, err
		}
		return &wallClock{Lock: l, ttl: c.TTL, ends: map[any]time.Time{}}, nil
	},
}

type wallClock struct {
	clients.Lock
	ttl time.Duration

	mu   sync.Mutex
	ends map[any]time.Time // the time of day at which a grant's lease ends, by the grant's secret
}

// timeOfDay is the wall clock alone: Go's own times carry a reading of the
// monotonic clock, and are compared by that.
func timeOfDay() time.Time { return time.Now().Round(0) }

// Acquire notes when the lease ends. It began with the attempt.
func (l *wallClock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	g, err := l.Lock.Acquire(ctx, key)
	if err == nil {
		l.mu.Lock()
		l.ends[g.Secret] = timeOfDay().Add(l.ttl - monotime.Since(g.Attempt))
		l.mu.Unlock()
	}
	return g, err
}

// Held asks nobody but the clock.
func (l *wallClock) Held(_ context.Context, g clients.Grant) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !timeOfDay().Before(l.ends[g.Secret]) {
		return fmt.Errorf("the lease of %q is over: %w", g.Key, clients.ErrNotHeld)
	}
	return nil
}

// Release forgets the grant.
func (l *wallClock) Release(ctx context.Context, g clients.Grant) error {
	l.mu.Lock()
	delete(l.ends, g.Secret)
	l.mu.Unlock()
	return l.Lock.Release(ctx, g)
}
