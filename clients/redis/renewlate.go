package redis

import (
	"context"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
)

// RenewLate is broken on purpose: redis-setnx whose renewal takes every yes of the
// server for a lease that begins with the answer. An answer that was on its way for
// longer than the TTL tells of a lease that is over, and the lock says "renewed".
var RenewLate = clients.Kind{
	Name:    "broken-renew-late",
	About:   "redis-setnx that counts a renewed lease from the answer, however late that comes",
	Service: "redis",
	Claims:  clients.Claims{Validity: "library", Token: "none", Confirms: Setnx.Claims.Confirms, Permits: 1},
	Control: checker.DeadRenewal,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		l, err := openRenewable(c, Algorithm{}, true)
		if err != nil {
			return nil, err
		}
		return assuring{l.(renewable)}, nil
	},
}

// assuring is a renewable lock that says itself for how long a grant is good,
// so that nobody else has to look at a clock.
type assuring struct{ renewable }

// Acquire says that the grant is good for the TTL from its attempt on.
func (l assuring) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	g, err := l.renewable.Acquire(ctx, key)
	g.ValidFor, g.HasValidFor = int64(l.ttl), err == nil
	return g, err
}
