package broken

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/internal/endpoint/redisurl"
)

// WatchdogBlind is the control broken-watchdog-blind: redis-setnx with a renewal every TTL/3
// that is a bare PEXPIRE, with no look at whose key it is. A client that was frozen for longer
// than the TTL renews the key of the client that has it now, takes the server's 1 for its own
// success, and goes on believing; asked whether it holds, it says what the last renewal said.
var WatchdogBlind = clients.Kind{
	Name:    "broken-watchdog-blind",
	About:   "redis-setnx renewed by a bare PEXPIRE, whoever has the key by then; held says what the last renewal said",
	Service: "redis",
	Claims:  clients.Claims{Validity: "session", Token: "none", Confirms: []string{"held"}, Permits: 1},
	Control: checker.Continuity,
	Renews:  true,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		l, err := redis.Open(c, redis.Algorithm{})
		if err != nil {
			return nil, err
		}
		client, _, err := redisurl.Client(c.Nodes, nil, nil)
		if err != nil {
			return nil, err
		}
		b := &blind{Lock: l, client: client, ttl: c.TTL,
			gate: c.Renewals, holds: map[any]*renewal{}}
		b.life, b.end = context.WithCancel(context.Background())
		return b, nil
	},
}

type blind struct {
	clients.Lock
	client goredis.UniversalClient // for renewals
	ttl    time.Duration
	gate   *clients.Gate

	life    context.Context // until Close
	end     context.CancelFunc
	renewed sync.WaitGroup

	mu    sync.Mutex
	holds map[any]*renewal // by the grant's secret
}

// renewal is what is known of one grant.
type renewal struct {
	stop context.CancelFunc
	gone bool // the last renewal found no key
}

// Acquire takes the key and begins to renew it.
func (b *blind) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	g, err := b.Lock.Acquire(ctx, key)
	if err != nil {
		return g, err
	}
	life, stop := context.WithCancel(b.life)
	r := &renewal{stop: stop}
	b.mu.Lock()
	b.holds[g.Secret] = r
	b.mu.Unlock()
	b.renewed.Go(func() { b.renew(life, key, r) })
	return g, nil
}

func (b *blind) renew(life context.Context, key string, r *renewal) {
	tick := time.NewTicker(max(b.ttl/3, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-life.Done():
			return
		case <-tick.C:
		}
		_ = b.gate.Pass(life)
		ctx, cancel := context.WithTimeout(life, b.ttl)
		there, err := b.client.PExpire(ctx, redis.LockKey(key), b.ttl).Result()
		cancel()
		if err == nil {
			b.mu.Lock()
			r.gone = !there
			b.mu.Unlock()
		}
	}
}

// Release stops renewing and deletes the key if it has the grant's value.
func (b *blind) Release(ctx context.Context, g clients.Grant) error {
	b.mu.Lock()
	if r, ours := b.holds[g.Secret]; ours {
		r.stop()
		delete(b.holds, g.Secret)
	}
	b.mu.Unlock()
	return b.Lock.Release(ctx, g)
}

// Held says what the last renewal said.
func (b *blind) Held(_ context.Context, g clients.Grant) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r, ours := b.holds[g.Secret]; !ours || r.gone {
		return fmt.Errorf("%q: %w", g.Key, clients.ErrNotHeld)
	}
	return nil
}

// Close stops renewing and gives up the connections.
func (b *blind) Close(ctx context.Context) error {
	b.end()
	err := b.client.Close() // ends a renewal in progress
	b.renewed.Wait()
	return errors.Join(err, b.Lock.Close(ctx))
}
