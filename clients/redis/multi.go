package redis

import (
	"context"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
)

// mostKeys is how many keys one acquire of redis-multi may ask for.
const mostKeys = 3

// Multi is the lock redis-multi: redis-setnx of several keys at once. One script looks at
// all of them and takes all or none, so that nobody keeps a key while he waits for another.
var Multi = clients.Kind{
	Name:    "redis-multi",
	About:   "up to three keys in one acquire, all or none: one script takes them, by SET PX with one random value, and one gives them back",
	Service: "redis",
	Claims:  multiClaims,
	Open:    clients.With(openMulti, Algorithm{Take: runSet(takeAll), Free: freeSet, Has: hasSet}),
}

// MultiPartial is broken on purpose: it takes the keys of a set one after the
// other. It gives up at the first that is taken, and keeps those that it has got.
var MultiPartial = clients.Kind{
	Name:    "broken-multi-partial",
	About:   "redis-multi that takes one key after the other, and keeps those that it has got when it gives up",
	Service: "redis",
	Claims:  multiClaims,
	Control: checker.FalseBusy,
	Open:    clients.With(openMulti, Algorithm{Take: runSet(takeByKey), Free: freeSet, Has: hasSet}),
}

// MultiSteps is broken on purpose: it takes the keys of a set one after the other, and gives them
// their expiry when it has all. It gives back those that it knows to have. A key whose answer never
// came, or whose client died in between, stays for ever.
var MultiSteps = clients.Kind{
	Name: "broken-multi-steps",
	About: "redis-multi that takes one key after the other, gives them an expiry when it has all, and gives back " +
		"those whose answers came",
	Service: "redis",
	Claims:  multiClaims,
	Control: checker.StuckLock,
	Open:    clients.With(openMulti, Algorithm{Take: takeInSteps, Free: freeSet, Has: hasSet}),
}

var multiClaims = clients.Claims{Validity: "from_invocation", Token: "none", Confirms: []string{"release", "held"},
	Permits: 1, MultiKey: mostKeys}

// keySet is the keys that one acquire asked for, Request.Key first.
type keySet struct{ keys []string }

// multi is a lock on several keys at once.
type multi struct{ *lock }

func openMulti(c clients.Config, how Algorithm) (clients.Lock, error) {
	l, err := open(c, how)
	if err != nil {
		return nil, err
	}
	return multi{l}, nil
}

// Acquire takes one key.
func (m multi) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return m.AcquireSet(ctx, []string{key})
}

// AcquireSet takes all of the keys, or none.
func (m multi) AcquireSet(ctx context.Context, keys []string) (clients.Grant, error) {
	r := m.request(keys[0], newValue(m.number))
	r.set = &keySet{keys}
	return m.acquire(ctx, r)
}

// An attempt that is open is recognised by its value, and its lease counted anew.
var (
	takeAll = goredis.NewScript(`
for _, key in ipairs(KEYS) do
	local value = redis.call('GET', key)
	if value and value ~= ARGV[1] then return 0 end
end
for _, key in ipairs(KEYS) do
	redis.call('SET', key, ARGV[1], 'PX', ARGV[2])
end
return 1`)

	takeByKey = goredis.NewScript(`
for _, key in ipairs(KEYS) do
	if not redis.call('SET', key, ARGV[1], 'NX', 'PX', ARGV[2]) then
		if redis.call('GET', key) ~= ARGV[1] then return 0 end
		redis.call('PEXPIRE', key, ARGV[2])
	end
end
return 1`)

	expireAll = goredis.NewScript(`
for _, key in ipairs(KEYS) do
	if redis.call('GET', key) ~= ARGV[1] then return 0 end
	redis.call('PEXPIRE', key, ARGV[2])
end
return 1`)

	// freeAll gives back what is still ours, and returns whether that was all.
	freeAll = goredis.NewScript(`
local freed = 0
for _, key in ipairs(KEYS) do
	if redis.call('GET', key) == ARGV[1] then freed = freed + redis.call('DEL', key) end
end
return freed == #KEYS and 1 or 0`)

	hasAll = goredis.NewScript(`
for _, key in ipairs(KEYS) do
	if redis.call('GET', key) ~= ARGV[1] then return 0 end
end
return 1`)
)

// onSet runs a script on all keys of the request, and reports whether it
// answers 1. A grant that is none of ours names one key.
func onSet(ctx context.Context, r Request, script *goredis.Script) (bool, error) {
	asked := []string{r.Key}
	if r.set != nil {
		asked = r.set.keys
	}
	var keys []string
	for _, key := range asked {
		keys = append(keys, LockKey(key))
	}
	return r.Confirms(ctx, script, keys...)
}

func runSet(script *goredis.Script) func(context.Context, Request) (Answer, error) {
	return func(ctx context.Context, r Request) (Answer, error) {
		taken, err := onSet(ctx, r, script)
		return Answer{Taken: taken}, err
	}
}

func takeInSteps(ctx context.Context, r Request) (Answer, error) {
	got := &keySet{}
	for _, key := range r.set.keys {
		taken, err := r.Client.SetNX(ctx, LockKey(key), r.Value, 0).Result()
		if err != nil || !taken { // without an answer it may be taken all the same: that is the mistake
			if r.set = got; len(got.keys) > 0 {
				_, _ = freeSet(ctx, r) // nor does it look what came of this
			}
			return Answer{}, nil
		}
		got.keys = append(got.keys, key)
	}
	kept, err := onSet(ctx, r, expireAll)
	return Answer{Taken: kept}, err
}

func freeSet(ctx context.Context, r Request) (bool, error) { return onSet(ctx, r, freeAll) }

func hasSet(ctx context.Context, r Request) (bool, error) { return onSet(ctx, r, hasAll) }
