package etcd

import (
	"context"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
)

// QueueStayer is broken on purpose: a queue of keys as etcd-lease's, whose waiter gives up and leaves its key in the queue. The key's
// turn comes, nobody takes the lock, and nobody gives it back. The lease of the client's session keeps the key for as long as the
// client lives.
var QueueStayer = clients.Kind{
	Name:      "broken-etcd-queue-stayer",
	About:     "etcd's queue of keys; a waiter that gives up leaves its key in the queue",
	Service:   "etcd",
	Claims:    clients.Claims{Validity: "session", Token: "none", Confirms: []string{"held"}, Permits: 1},
	LostGrace: lostGrace,
	Control:   checker.StuckLock,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		l, err := open(c)
		if err != nil {
			return nil, err
		}
		return &semaphore{lock: l, dir: prefix + "stays/", permits: 1, stays: true}, nil
	},
}
