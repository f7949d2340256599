package etcd

import (
	"context"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
)

// TokenLease is broken on purpose: etcd-lease whose fencing token is the ID of its
// session's lease, the first number that etcd's client gives one. IDs of leases
// are not given in order, and all grants of a session share one, so a store can't
// tell which grant is the newest. The revision that created the key can.
var TokenLease = clients.Kind{
	Name:      "broken-etcd-token-lease",
	About:     "etcd-lease whose fencing token is the ID of its session's lease, a number that does not rise with the grants",
	Service:   "etcd",
	Claims:    Lease.Claims,
	LostGrace: lostGrace,
	Renews:    true,
	Control:   checker.TokenOrder,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		l, err := open(c)
		if err != nil {
			return nil, err
		}
		return tokenLease{l}, nil
	},
}

type tokenLease struct{ *lock }

// Acquire gives the lease's ID for a token.
func (l tokenLease) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	g, err := l.lock.Acquire(ctx, key)
	if h, ok := g.Secret.(*hold); ok {
		g.Token = int64(h.session.Lease())
	}
	return g, err
}
