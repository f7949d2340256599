package broken

import (
	"context"
	"errors"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/internal/endpoint/redisurl"
)

// Sleeper is the control broken-redis-sleeper: redis-setnx whose waiters do not poll. A release
// publishes a notice, and a waiter that finds the key taken sleeps until it hears one. Nobody
// publishes when the key of a dead holder expires, and a notice that comes between a waiter's
// look and its subscription is lost. Then the key is free, and those who wait sleep on. A waiter
// has to look again once it has subscribed, and when the lease that it waits for is over.
var Sleeper = clients.Kind{
	Name:    "broken-redis-sleeper",
	About:   "redis-setnx whose waiters sleep until a release publishes a notice, and never look again",
	Service: "redis",
	Claims: clients.Claims{Validity: "from_invocation", Token: "none", Confirms: []string{"release", "held"},
		Permits: 1},
	Control: checker.StuckLock,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		l, err := redis.Open(c, redis.Algorithm{})
		if err != nil {
			return nil, err
		}
		client, _, err := redisurl.Client(c.Nodes, nil, nil)
		if err != nil {
			return nil, err
		}
		return &sleeper{Lock: l, client: client}, nil
	},
}

// oneLook is for how long a waiter tries to take the key before it sleeps.
const oneLook = 20 * time.Millisecond

type sleeper struct {
	clients.Lock
	client goredis.UniversalClient // for notices
}

func notices(key string) string { return "freed:{" + key + "}" }

// Acquire tries to take the key, sleeps until it hears a notice, and tries again.
func (s *sleeper) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	for {
		look, cancel := context.WithTimeout(ctx, oneLook)
		g, err := s.Lock.Acquire(look, key)
		cancel()
		if err == nil || !errors.Is(err, clients.ErrBusy) {
			return g, err
		}
		if !s.hears(ctx, key) {
			return g, fmt.Errorf("wait for a notice of %q: %w", key, clients.ErrBusy)
		}
	}
}

// hears sleeps until a notice comes. It returns false when the context ends first.
func (s *sleeper) hears(ctx context.Context, key string) bool {
	sub := s.client.Subscribe(ctx, notices(key))
	defer sub.Close()
	select {
	case <-sub.Channel():
		return true
	case <-ctx.Done():
		return false
	}
}

// Release deletes the key if it has the grant's value, and wakes who waits for it.
func (s *sleeper) Release(ctx context.Context, g clients.Grant) error {
	if err := s.Lock.Release(ctx, g); err != nil {
		return err
	}
	// the key is free, whether anybody hears of it or not
	_ = s.client.Publish(ctx, notices(g.Key), "freed").Err()
	return nil
}

// Held asks the server, as redis-setnx does.
func (s *sleeper) Held(ctx context.Context, g clients.Grant) error {
	return s.Lock.(clients.Holder).Held(ctx, g)
}

// Close gives up the connections.
func (s *sleeper) Close(ctx context.Context) error {
	return errors.Join(s.client.Close(), s.Lock.Close(ctx))
}
