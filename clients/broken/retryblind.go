package broken

import (
	"context"
	"errors"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redis"
)

// RetryBlind is the control broken-retry-blind: redis-setnx whose SET NX is sent again when its reply was lost, as clients of Redis do
// unless they are told not to, and whose lock does not know of that. The second SET finds the key that the first one made, the lock
// takes it for somebody else's, and says "busy". The key has an owner who does not know: nobody gives it back before its TTL ends.
var RetryBlind = clients.Kind{
	Name:    "broken-retry-blind",
	About:   "redis-setnx that repeats a SET NX whose reply was lost, and takes its own key for another's",
	Service: "redis",
	Claims:  clients.Claims{Validity: "from_invocation", Token: "none", Confirms: []string{"release", "held"}, Permits: 1},
	Control: checker.FalseBusy,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		return redis.Open(c, redis.Algorithm{Take: takeAgain})
	},
}

// retries is how often go-redis itself repeats a command, if it is not told otherwise.
const retries = 3

func takeAgain(ctx context.Context, r redis.Request) (redis.Answer, error) {
	var err error
	for range 1 + retries {
		err = r.Client.SetArgs(ctx, redis.LockKey(r.Key), r.Value, goredis.SetArgs{Mode: "NX", TTL: r.TTL}).Err()
		if err == nil || errors.Is(err, goredis.Nil) || ctx.Err() != nil {
			break
		}
	}
	if errors.Is(err, goredis.Nil) {
		return redis.Answer{}, nil
	}
	return redis.Answer{Taken: err == nil}, err
}
