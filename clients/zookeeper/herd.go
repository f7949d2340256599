package zookeeper

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
)

// Herd is broken on purpose: every waiter watches the lock's directory, so that
// each release wakes them all, and all of them ask for the queue.
var Herd = clients.Kind{
	Name:      "broken-zk-herd",
	About:     "the lock zookeeper, whose waiters all watch the lock's directory: a release wakes every one of them",
	Service:   "zookeeper",
	Claims:    claims,
	LostGrace: lostGrace,
	Control:   checker.Herd,
	Open: func(ctx context.Context, c clients.Config) (clients.Lock, error) {
		l, err := open(ctx, c)
		if err != nil {
			return nil, err
		}
		l.turn = awaitAny
		return l, nil
	},
}

// awaitAny returns when anything in the queue has changed.
func awaitAny(ctx context.Context, s *session, dir, before string) error {
	var queue []string
	changed, err := again(ctx, s, func(c *zk.Conn) (events <-chan zk.Event, err error) {
		queue, _, events, err = c.ChildrenW(dir)
		return events, err
	})
	if err != nil {
		return err
	}
	for _, name := range queue {
		if name == before {
			return s.event(ctx, changed)
		}
	}
	return nil // it has gone already
}
