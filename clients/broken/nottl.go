package broken

import (
	"context"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redis"
)

// NoTTL is the control broken-no-ttl: SET NX without an expiry. Nothing goes wrong as long as every holder lives to release; the first that dies
// leaves the lock taken for ever.
var NoTTL = clients.Kind{
	Name:    "broken-no-ttl",
	About:   "SET NX without an expiry: a holder that dies leaves the key for ever",
	Service: "redis",
	Claims:  clients.Claims{Validity: "from_invocation", Token: "none", Confirms: []string{"release"}, Permits: 1, NoExpiry: true},
	Control: checker.StuckLock,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		return redis.Open(c, redis.Algorithm{Take: takeForEver})
	},
}

func takeForEver(ctx context.Context, r redis.Request) (redis.Answer, error) {
	taken, err := r.Client.SetNX(ctx, redis.LockKey(r.Key), r.Value, 0).Result()
	return redis.Answer{Taken: taken}, err
}
