package broken

import (
	"context"
	"fmt"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redis"
)

// OwnName is the control broken-own-name: redis-setnx whose value is the name that its user
// configured. A client that finds its own name takes the key for its own. So two clients that were
// given one name both hold it: what happens to electors of Kubernetes with a fixed identity
// (https://github.com/kubernetes/kubernetes/issues/61151).
var OwnName = clients.Kind{
	Name:    "broken-own-name",
	About:   "redis-setnx whose value is the client's configured name, and which takes a key with its own name for its own",
	Service: "redis",
	Claims:  named("none"),
	Control: checker.MutualExclusion,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		return redis.Open(c, byName(c.Identity.Name))
	},
}

// HostPID is the control broken-host-pid: broken-own-name that makes the name itself, of the host's
// name and the number of its process. In containers every process is number 1, and pods that were
// restored from one backup have one name.
var HostPID = clients.Kind{
	Name:    "broken-host-pid",
	About:   "redis-setnx whose value is the host's name and the process's number, and which takes a key with its own value for its own",
	Service: "redis",
	Claims:  named("process"),
	Control: checker.MutualExclusion,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		return redis.Open(c, byName(fmt.Sprintf("%s:%d", c.Identity.Host, c.Identity.Process)))
	},
}

func named(identity string) clients.Claims {
	return clients.Claims{Validity: "from_invocation", Token: "none", Confirms: []string{"release", "held"}, Permits: 1,
		Identity: identity}
}

// byName is redis-setnx with one value for all grants of a client.
func byName(name string) redis.Algorithm {
	as := func(r redis.Request) redis.Request {
		r.Value = name
		return r
	}
	return redis.Algorithm{
		Take: func(ctx context.Context, r redis.Request) (redis.Answer, error) {
			taken, err := as(r).Run(ctx, setOrOwn, redis.LockKey(r.Key))
			return redis.Answer{Taken: taken == 1}, err
		},
		Free: func(ctx context.Context, r redis.Request) (bool, error) { return redis.FreeOwn(ctx, as(r)) },
		Has:  func(ctx context.Context, r redis.Request) (bool, error) { return redis.HasOwn(ctx, as(r)) },
	}
}

// setOrOwn takes the key, or finds that it is its own already. Then it leaves the expiry as it is.
var setOrOwn = goredis.NewScript(`
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) or redis.call('GET', KEYS[1]) == ARGV[1] then
	return 1
end
return 0`)
