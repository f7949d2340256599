package broken

import (
	"context"
	"errors"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redis"
)

// ClientExpiry is the control broken-client-expiry: an owner and the time of day at which the lease
// ends, which its owner works out by its own clock and everybody else compares with theirs. Tables
// of locks are often used like this (UPDATE … WHERE lock_until <= :now). Each step is one script,
// so it keeps every promise while all clocks agree. A client whose clock is ahead by more than what
// is left of the lease takes the key from its holder.
var ClientExpiry = clients.Kind{
	Name:    "broken-client-expiry",
	About:   "an owner with an expiry, which each client works out and looks at by its own time of day",
	Service: "redis",
	Claims:  redis.Setnx.Claims,
	Control: checker.MutualExclusion,
	Open: clients.With(redis.OpenRenewable, redis.Algorithm{Take: takeByTime, Extend: extendByTime, Free: freeByTime,
		Has: hasByTime}),
}

// The arguments of the scripts: the value, the lease and the client's time of day, in ms.
var (
	takeExpired = goredis.NewScript(`
local until_ms = redis.call('HGET', KEYS[1], 'until')
if until_ms and tonumber(until_ms) > tonumber(ARGV[3]) and redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then
	return 0
end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'until', ARGV[3] + ARGV[2])
return 1`)

	extendOwner = goredis.NewScript(`
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then
	return 0
end
redis.call('HSET', KEYS[1], 'until', ARGV[3] + ARGV[2])
return 1`)

	freeOwner = goredis.NewScript(`
if redis.call('HGET', KEYS[1], 'owner') == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0`)
)

func takeByTime(ctx context.Context, r redis.Request) (redis.Answer, error) {
	taken, err := runByTime(ctx, r, takeExpired)
	return redis.Answer{Taken: taken}, err
}

func extendByTime(ctx context.Context, r redis.Request) (bool, error) {
	return runByTime(ctx, r, extendOwner)
}

// runByTime runs a script with the client's time of day, and returns whether it answers 1.
func runByTime(ctx context.Context, r redis.Request, script *goredis.Script) (bool, error) {
	n, err := script.Run(ctx, r.Client, []string{redis.LockKey(r.Key)}, r.Value, r.TTL.Milliseconds(),
		time.Now().UnixMilli()).Int64()
	return n == 1, err
}

func freeByTime(ctx context.Context, r redis.Request) (bool, error) {
	return r.Confirms(ctx, freeOwner, redis.LockKey(r.Key))
}

func hasByTime(ctx context.Context, r redis.Request) (bool, error) {
	owner, err := r.Client.HGet(ctx, redis.LockKey(r.Key), "owner").Result()
	if errors.Is(err, goredis.Nil) {
		return false, nil
	}
	return err == nil && owner == r.Value, err
}
