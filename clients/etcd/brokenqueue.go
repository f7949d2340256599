package etcd

import (
	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
)

// QueueStayer is broken on purpose: a queue of keys as etcd-lease's, whose waiter gives up and
// leaves its key in the queue. The key's turn comes, nobody takes the lock, and nobody gives
// it back. The lease of the client's session keeps the key for as long as the client lives.
var QueueStayer = clients.Kind{
	Name:      "broken-etcd-queue-stayer",
	About:     "etcd's queue of keys; a waiter that gives up leaves its key in the queue",
	Service:   "etcd",
	Claims:    clients.Claims{Validity: "session", Token: "none", Confirms: []string{"held"}, Permits: 1},
	LostGrace: lostGrace,
	Control:   checker.StuckLock,
	Open:      clients.With(openQueue, queue{dir: prefix + "stays/", permits: 1, stays: true}),
}

// QueueCareless is broken on purpose: a queue of keys as etcd-lease's, whose waiter that
// gives up sends one request to take its key out of the queue, and does not look whether that
// came to anything. If it is lost, the key stays as that of broken-etcd-queue-stayer does.
var QueueCareless = clients.Kind{
	Name:      "broken-etcd-queue-careless",
	About:     "etcd's queue of keys; a waiter that gives up deletes its key by one request, and does not look whether that was carried out",
	Service:   "etcd",
	Claims:    QueueStayer.Claims,
	LostGrace: lostGrace,
	Control:   checker.StuckLock,
	Open:      clients.With(openQueue, queue{dir: prefix + "careless/", permits: 1, careless: true}),
}

// WaiterBlind is broken on purpose: a queue of keys as etcd-lease's, whose waiter takes the
// lock when all keys before its own have gone, and does not look whether its own is still
// there. A waiter whose lease ended in the queue has left it without knowing, and is
// granted the lock beside the one that stood behind it. etcd's library did the same until Jepsen
// found it (https://jepsen.io/analyses/etcd-3.4.3, 2020); it has looked for its key since.
var WaiterBlind = clients.Kind{
	Name:      "broken-etcd-waiter-blind",
	About:     "etcd's queue of keys; a waiter does not look whether its own key is still there when its turn comes",
	Service:   "etcd",
	Claims:    clients.Claims{Validity: "session", Token: "none", Confirms: []string{"held"}, Permits: 1},
	LostGrace: lostGrace,
	Control:   checker.DeadGrant,
	Open:      clients.With(openQueue, queue{dir: prefix + "blind/", permits: 1, blind: true}),
}
