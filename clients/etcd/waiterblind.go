package etcd

import (
	"context"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
)

// WaiterBlind is broken on purpose: a queue of keys as etcd-lease's, whose waiter takes the lock when all keys before its own have gone, and does not look whether its own is
// still there. A waiter whose lease ended in the queue has left it without knowing, and is granted the lock beside whoever stood behind it. etcd's library did the same
// until Jepsen found it (https://jepsen.io/analyses/etcd-3.4.3, 2020); it has looked for its key since.
var WaiterBlind = clients.Kind{
	Name:      "broken-etcd-waiter-blind",
	About:     "etcd's queue of keys; a waiter does not look whether its own key is still there when its turn comes",
	Service:   "etcd",
	Claims:    clients.Claims{Validity: "session", Token: "none", Confirms: []string{"held"}, Permits: 1},
	LostGrace: lostGrace,
	Control:   checker.DeadGrant,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		l, err := open(c)
		if err != nil {
			return nil, err
		}
		return &semaphore{lock: l, dir: prefix + "blind/", permits: 1, blind: true}, nil
	},
}
