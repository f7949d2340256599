package broken

import (
	"context"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redis"
)

// TokenClock is the control broken-token-clock: redis-setnx whose "fencing token" is the server's clock in whole seconds. The grants of one second share it, so a
// store cannot tell which of them is the newest; and a clock that is set back gives a later grant a smaller one.
var TokenClock = clients.Kind{
	Name:    "broken-token-clock",
	About:   "redis-setnx whose fencing token is the server's clock in whole seconds, shared by all grants of a second",
	Service: "redis",
	Claims:  clients.Claims{Validity: "from_invocation", Token: "fencing", Confirms: []string{"renew", "release", "held"}, Permits: 1},
	Control: checker.TokenOrder,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		return redis.OpenRenewable(c, redis.Algorithm{Take: takeWithClock})
	},
}

// setAndClock takes the key, or recognises that it is ours, and answers with the time.
var setAndClock = goredis.NewScript(`
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
	return tonumber(redis.call('TIME')[1])
end
if redis.call('GET', KEYS[1]) == ARGV[1] then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return tonumber(redis.call('TIME')[1])
end
return 0`)

func takeWithClock(ctx context.Context, r redis.Request) (redis.Answer, error) {
	seconds, err := r.Run(ctx, setAndClock, redis.LockKey(r.Key))
	return redis.Answer{Token: seconds, Taken: err == nil && seconds > 0}, err
}
