package zookeeper

import (
	"context"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
)

// SessionBlind is broken on purpose: the recipe, but for its session, at whose end it does not
// look. It never tells of a loss, and says that it holds what another has long been granted.
var SessionBlind = clients.Kind{
	Name:      "broken-zk-session-blind",
	About:     "the lock zookeeper, which ignores that its session expired",
	Service:   "zookeeper",
	Claims:    claims,
	LostGrace: lostGrace,
	Control:   checker.Continuity,
	Open: func(ctx context.Context, c clients.Config) (clients.Lock, error) {
		l, err := open(ctx, c)
		if err != nil {
			return nil, err
		}
		return &blind{lock: l}, nil
	},
}

type blind struct{ *lock }

// Lost never tells.
func (b *blind) Lost() <-chan clients.Loss { return nil }

// Held believes that what was granted once is held.
func (b *blind) Held(_ context.Context, g clients.Grant) error {
	_, err := b.own(g)
	return err
}
