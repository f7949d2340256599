package redis

import (
	"context"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
)

// RenewLate is broken on purpose: redis-setnx whose renewal takes every yes of the server for a lease that begins with the answer.
// An answer that was on its way for longer than the TTL tells of a lease that is over, and the lock says "renewed".
var RenewLate = clients.Kind{
	Name:    "broken-renew-late",
	About:   "redis-setnx that counts a renewed lease from the answer, however late that comes",
	Service: "redis",
	Claims:  Setnx.Claims,
	Control: checker.DeadRenewal,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		return openRenewable(c, Algorithm{}, true)
	},
}
