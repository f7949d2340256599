package redis

import (
	"context"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/clients"
)

// permits is how many may hold a key of the semaphore at once. The scripts have the same number.
const permits = 2

// Semaphore is the lock semaphore-redis: a counting semaphore with two permits, in a sorted set of holders by the time at which their
// leases end. It is the one of Carlson, "Redis in Action" (2013), section 6.3, with the two mends that the book itself works towards: counting and adding are one step
// (a script), and time is the server's own, so that clients with fast clocks cannot throw others out.
var Semaphore = clients.Kind{
	Name:    "semaphore-redis",
	About:   "two permits: a sorted set of holders by the end of their leases, by the server's clock, counted and entered by one script",
	Service: "redis",
	Claims:  clients.Claims{Validity: "from_invocation", Token: "none", Confirms: []string{"release", "held"}, Permits: permits},
	Open:    clients.With(Open, Algorithm{Take: takePermit, Free: freePermit, Has: hasPermit}),
}

// Leases end by the millisecond. The clock's reading is cut off, so a lease that ends in the present one is kept: it ends up to a millisecond late, never early.
const serverNow = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. string.format('%.0f', now))
`

var (
	// enterHolders enters the value if there is room, or has entered it before: an open attempt is recognised, and its lease counted anew.
	enterHolders = goredis.NewScript(serverNow + `
if redis.call('ZSCORE', KEYS[1], ARGV[1]) or redis.call('ZCARD', KEYS[1]) < 2 then
	redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[1])
	redis.call('PEXPIRE', KEYS[1], tonumber(ARGV[2]) + 1000)
	return 1
end
return 0`)

	leaveHolders = goredis.NewScript(serverNow + `
return redis.call('ZREM', KEYS[1], ARGV[1])`)

	isHolder = goredis.NewScript(serverNow + `
return redis.call('ZSCORE', KEYS[1], ARGV[1]) and 1 or 0`)
)

func holders(key string) string { return "semaphore:{" + key + "}" }

func takePermit(ctx context.Context, r Request) (Answer, error) {
	n, err := r.Run(ctx, enterHolders, holders(r.Key))
	return Answer{Taken: n == 1}, err
}

func freePermit(ctx context.Context, r Request) (bool, error) {
	n, err := r.Run(ctx, leaveHolders, holders(r.Key))
	return n == 1, err
}

func hasPermit(ctx context.Context, r Request) (bool, error) {
	n, err := r.Run(ctx, isHolder, holders(r.Key))
	return n == 1, err
}
