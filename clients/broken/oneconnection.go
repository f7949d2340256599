package broken

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redis"
)

// OneConnection is the control broken-one-connection: redis-setnx on a connection that it opens
// once. When a request was not answered, the connection is of no use any more, and every later
// request fails. Only a fresh process connects again. Locks that keep a connection or a session for
// as long as they live are often like this.
var OneConnection = clients.Kind{
	Name:    "broken-one-connection",
	About:   "redis-setnx that never connects again: after an error each of its requests fails, for as long as its process lives",
	Service: "redis",
	Claims:  clients.Claims{Validity: "from_invocation", Token: "none", Confirms: []string{"release"}, Permits: 1},
	Control: checker.StuckLock,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		connected, hangUp := context.WithCancel(context.Background())
		l, err := redis.Open(c, redis.Algorithm{
			Take: func(ctx context.Context, r redis.Request) (redis.Answer, error) {
				taken, err := once(connected, hangUp, func() (bool, error) {
					return r.Client.SetNX(ctx, redis.LockKey(r.Key), r.Value, r.TTL).Result()
				})
				return redis.Answer{Taken: taken}, err
			},
			Free: func(ctx context.Context, r redis.Request) (bool, error) {
				return once(connected, hangUp, func() (bool, error) { return redis.FreeOwn(ctx, r) })
			},
		})
		if err != nil {
			hangUp()
			return nil, err
		}
		return &oneConnection{Lock: l, connected: connected, hangUp: hangUp}, nil
	},
}

type oneConnection struct {
	clients.Lock
	connected context.Context
	hangUp    context.CancelFunc
}

var errConnectionGone = errors.New("the connection is closed")

// once sends a request if the connection is still there. An error is its end.
func once(connected context.Context, hangUp context.CancelFunc, send func() (bool, error)) (bool, error) {
	if connected.Err() != nil {
		return false, errConnectionGone
	}
	ok, err := send()
	if err != nil {
		hangUp()
	}
	return ok, err
}

// Acquire gives up when the connection has gone.
func (l *oneConnection) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	if l.connected.Err() != nil {
		return clients.Grant{Key: key}, fmt.Errorf("acquire %q: %w", key, errConnectionGone)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(l.connected, stop)()
	return l.Lock.Acquire(ctx, key)
}

// Close ends the connection.
func (l *oneConnection) Close(ctx context.Context) error {
	defer l.hangUp()
	return l.Lock.Close(ctx)
}
