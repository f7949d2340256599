package broken

import (
	"context"
	"errors"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redis"
)

// TwoStep is the control broken-two-step: redis-setnx whose release reads whose key it is, and deletes the key with a second command. If the lease ends between
// the two, it deletes the key of the next holder. redis-py did so until its release 3.0 (https://github.com/redis/redis-py/pull/1031).
var TwoStep = clients.Kind{
	Name:    "broken-two-step",
	About:   "redis-setnx whose release looks whose key it is and deletes it with a second command, when it may be another's",
	Service: "redis",
	Claims:  clients.Claims{Validity: "from_invocation", Token: "none", Permits: 1},
	Control: checker.MutualExclusion,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		return redis.Open(c, redis.Algorithm{Free: lookThenDelete})
	},
}

func lookThenDelete(ctx context.Context, r redis.Request) (bool, error) {
	value, err := r.Client.Get(ctx, redis.LockKey(r.Key)).Result()
	if errors.Is(err, goredis.Nil) || err == nil && value != r.Value {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return deleteAny(ctx, r)
}
