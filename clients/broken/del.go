package broken

import (
	"context"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redis"
)

// Del is the control broken-del: redis-setnx whose release is a bare DEL, with no look at whose key it is. A client that was frozen for longer than
// the TTL deletes the key of the client that has it now, and a third gets it while the second believes in its lease. The manual of SET warns of it ("Patterns").
var Del = clients.Kind{
	Name:    "broken-del",
	About:   "redis-setnx released by a bare DEL, whoever has the key by then",
	Service: "redis",
	Claims:  clients.Claims{Validity: "from_invocation", Token: "none", Permits: 1},
	Control: checker.StolenRelease,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		return redis.Open(c, redis.Algorithm{Free: deleteAny})
	},
}

func deleteAny(ctx context.Context, r redis.Request) (bool, error) {
	err := r.Client.Del(ctx, redis.LockKey(r.Key)).Err()
	return err == nil, err
}
