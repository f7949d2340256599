package redis

import (
	"context"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/clients"
)

// Fair is the lock redis-fair: redis-setnx with a queue of waiters in a list. A waiter appends its
// value (RPUSH) and polls, with redis-setnx's random and growing pauses, until it is the first
// (LINDEX 0) and the key is free. It is how Redisson's fair lock works (RedissonFairLock: a list
// of threads, a sorted set of their timeouts), with polling in place of a channel for each waiter.
//
// A waiter that dies would stand before the others for ever. So each poll says
// that its waiter lives for another TTL, by the server's clock, and each
// poll removes the dead from the head. A waiter that was frozen and taken for
// dead stands last when it comes back, and says so in Enqueued.
var Fair = clients.Kind{
	Name:    "redis-fair",
	About:   "redis-setnx with a queue of waiters in a list: granted in the order of arrival; waiters that no longer poll are removed",
	Service: "redis",
	Claims: clients.Claims{Validity: "from_invocation", Token: "none", Confirms: []string{"release", "held"},
		Permits: 1, Fair: true},
	Open: clients.With(Open, Algorithm{Take: takeInTurn, Free: leaveQueue, Queues: true}),
}

// The answers of takeFirst.
const (
	waits = iota
	enqueued
	taken
	enqueuedAndTaken
)

var (
	// takeFirst enters the queue unless the waiter stands in it, removes dead waiters
	// from its head, and takes the key if the waiter is the first and the key is free.
	// KEYS: the key, the list of waiters, the sorted set of when each is taken for dead.
	takeFirst = goredis.NewScript(`
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local me, ttl = ARGV[1], tonumber(ARGV[2])
if redis.call('GET', KEYS[1]) == me then
	redis.call('PEXPIRE', KEYS[1], ttl)
	return 2
end
local entered = 0
if not redis.call('ZSCORE', KEYS[3], me) then
	redis.call('RPUSH', KEYS[2], me)
	entered = 1
end
redis.call('ZADD', KEYS[3], now + ttl, me)
local head = redis.call('LINDEX', KEYS[2], 0)
while head ~= me do
	local until_ = redis.call('ZSCORE', KEYS[3], head)
	if until_ and tonumber(until_) >= now then
		break
	end
	redis.call('LPOP', KEYS[2])
	redis.call('ZREM', KEYS[3], head)
	head = redis.call('LINDEX', KEYS[2], 0)
end
if head == me and redis.call('SET', KEYS[1], me, 'NX', 'PX', ttl) then
	redis.call('LPOP', KEYS[2])
	redis.call('ZREM', KEYS[3], me)
	return entered + 2
end
redis.call('PEXPIRE', KEYS[2], 10 * ttl + 60000)
redis.call('PEXPIRE', KEYS[3], 10 * ttl + 60000)
return entered`)

	// leaveAll leaves the queue, and deletes the key if it has our value.
	leaveAll = goredis.NewScript(`
redis.call('LREM', KEYS[2], 0, ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0`)
)

func fairKeys(key string) []string {
	return []string{LockKey(key), "queue:{" + key + "}", "waiting:{" + key + "}"}
}

func takeInTurn(ctx context.Context, r Request) (Answer, error) {
	n, err := r.Run(ctx, takeFirst, fairKeys(r.Key)...)
	return Answer{Taken: n == taken || n == enqueuedAndTaken, Enqueued: n == enqueued || n == enqueuedAndTaken}, err
}

func leaveQueue(ctx context.Context, r Request) (bool, error) {
	return r.Confirms(ctx, leaveAll, fairKeys(r.Key)...)
}
