package broken

import (
	"context"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redis"
)

// SetnxExpire is the control broken-setnx-expire: the key is taken with SETNX and given its expiry with a second command, as was usual before SET had
// the options NX and PX (Redis 2.6.12). A client that dies in between leaves a key that never expires, and nobody ever gets the lock again.
var SetnxExpire = clients.Kind{
	Name:    "broken-setnx-expire",
	About:   "SETNX, some milliseconds of the application's own work, then EXPIRE: whoever dies in between leaves the key for ever",
	Service: "redis",
	Claims:  clients.Claims{Validity: "from_invocation", Token: "none", Confirms: []string{"release"}, Permits: 1},
	Control: checker.StuckLock,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		return redis.Open(c, redis.Algorithm{Take: takeThenExpire})
	},
}

// ownWork is what the application does between the two commands: it writes a line to a log, say.
const ownWork = 20 * time.Millisecond

func takeThenExpire(ctx context.Context, r redis.Request) (redis.Answer, error) {
	taken, err := r.Client.SetNX(ctx, redis.LockKey(r.Key), r.Value, 0).Result()
	if err != nil || !taken {
		return redis.Answer{}, err
	}
	work := time.NewTimer(ownWork)
	defer work.Stop()
	select {
	case <-work.C:
	case <-ctx.Done():
		return redis.Answer{}, ctx.Err()
	}
	err = r.Client.PExpire(ctx, redis.LockKey(r.Key), r.TTL).Err()
	return redis.Answer{Taken: err == nil}, err
}
