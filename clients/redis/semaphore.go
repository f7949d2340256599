package redis

import (
	"context"
	"fmt"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
)

// permits is how many may hold a key of the semaphore at once. The script has the same number.
const permits = 2

// Semaphore is the lock semaphore-redis: a counting semaphore with two permits, in a
// sorted set of holders by the time at which their leases end. It is the one of
// Carlson, "Redis in Action" (2013), section 6.3, with the two mends that the book
// itself works towards: counting and adding are one step (a script), and time is the
// server's own, so that clients with fast clocks cannot throw others out. A client
// can take both permits at once: its value in the set begins with how many it has.
var Semaphore = clients.Kind{
	Name:    "semaphore-redis",
	About:   "two permits, which a client may take at once: a sorted set of holders by the end of their leases, by the server's clock, counted and entered by one script",
	Service: "redis",
	Claims:  semaphoreClaims,
	Open:    clients.With(openSemaphore, Algorithm{Take: takePermits(enterHolders), Free: freePermit, Has: hasPermit}),
}

// SemaphoreMiscounts is broken on purpose: semaphore-redis, which counts its
// holders, and not what they have.
var SemaphoreMiscounts = clients.Kind{
	Name:    "broken-semaphore-miscounts",
	About:   "semaphore-redis that grants two permits at once, and counts one",
	Service: "redis",
	Claims:  semaphoreClaims,
	Control: checker.MutualExclusion,
	Open: clients.With(openSemaphore, Algorithm{Take: takePermits(enterUncounted), Free: freePermit,
		Has: hasPermit}),
}

var semaphoreClaims = clients.Claims{Validity: "from_invocation", Token: "none", Confirms: []string{"release", "held"},
	Permits: permits, PerAcquire: permits}

// semaphore is a lock with several permits.
type semaphore struct{ *lock }

func openSemaphore(c clients.Config, how Algorithm) (clients.Lock, error) {
	l, err := open(c, how)
	if err != nil {
		return nil, err
	}
	return semaphore{l}, nil
}

// Acquire takes one permit.
func (s semaphore) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return s.AcquirePermits(ctx, key, 1)
}

// AcquirePermits takes so many at once, or none.
func (s semaphore) AcquirePermits(ctx context.Context, key string, n int) (clients.Grant, error) {
	return s.acquire(ctx, s.request(key, fmt.Sprintf("%d:%s", n, newValue(s.number))))
}

// Leases end by the millisecond. The clock's reading is cut off, so a lease that
// ends in the present one is kept: it ends up to a millisecond late, never early.
const serverNow = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. string.format('%.0f', now))
`

// enter enters the value if there is room, or has entered it before: an open attempt is
// recognised, and its lease counted anew. The function has is how many permits a value has.
const enter = `
local given = has(ARGV[1])
for _, other in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
	if other ~= ARGV[1] then given = given + has(other) end
end
if given > 2 then return 0 end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], tonumber(ARGV[2]) + 1000)
return 1`

var (
	enterHolders = goredis.NewScript(serverNow +
		`local function has(value) return tonumber(string.match(value, '^%d+')) end` + enter)
	enterUncounted = goredis.NewScript(serverNow + `local function has() return 1 end` + enter)

	leaveHolders = goredis.NewScript(serverNow + `
return redis.call('ZREM', KEYS[1], ARGV[1])`)

	isHolder = goredis.NewScript(serverNow + `
return redis.call('ZSCORE', KEYS[1], ARGV[1]) and 1 or 0`)
)

func holders(key string) string { return "semaphore:{" + key + "}" }

func takePermits(script *goredis.Script) func(context.Context, Request) (Answer, error) {
	return func(ctx context.Context, r Request) (Answer, error) {
		n, err := r.Run(ctx, script, holders(r.Key))
		return Answer{Taken: n == 1}, err
	}
}

func freePermit(ctx context.Context, r Request) (bool, error) {
	return r.Confirms(ctx, leaveHolders, holders(r.Key))
}

func hasPermit(ctx context.Context, r Request) (bool, error) {
	return r.Confirms(ctx, isHolder, holders(r.Key))
}
