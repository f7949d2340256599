package redis

import (
	"context"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
)

// RenewRetakes and WatchdogRetakes are broken on purpose: a renewal that finds no key makes it
// anew, and says that the lease was renewed. A client that was frozen for longer than its lease
// goes on as if nothing had been, though others had the lock and gave it back before it woke up.
// RenewBlind looks at no key's owner: it prolongs the key of the client that has it by then.
var (
	RenewBlind = clients.Kind{
		Name:    "broken-renew-blind",
		About:   "redis-setnx whose renewal prolongs the key, whoever has it",
		Service: "redis",
		Claims:  Setnx.Claims,
		Control: checker.Continuity,
		Open:    clients.With(OpenRenewable, Algorithm{Extend: extendWhatever}),
	}
	RenewRetakes = clients.Kind{
		Name:    "broken-renew-retakes",
		About:   "redis-setnx whose renewal makes the key anew if it has gone, whoever had it meanwhile",
		Service: "redis",
		Claims:  Setnx.Claims,
		Control: checker.Continuity,
		Open:    clients.With(OpenRenewable, Algorithm{Extend: extendOrTake}),
	}
	WatchdogRetakes = clients.Kind{
		Name:    "broken-watchdog-retakes",
		About:   "redis-watchdog that never looks at its clock, and whose renewal makes the key anew if it has gone, whoever had it meanwhile",
		Service: "redis",
		Claims: clients.Claims{Validity: "session", Token: "none", Confirms: []string{"release", "held"},
			Permits: 1},
		LostGrace: Watchdog.LostGrace,
		Renews:    true,
		Control:   checker.Continuity,
		Open:      clients.With(openDeaf, Algorithm{Extend: extendOrTake}),
	}
)

// extendAny sets the expiry of our key anew, or makes the key if there is none.
var extendAny = goredis.NewScript(`
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
	return 1
end
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0`)

func extendOrTake(ctx context.Context, r Request) (bool, error) {
	return r.Confirms(ctx, extendAny, LockKey(r.Key))
}

// extendExisting sets the expiry of the key anew, if there is one.
var extendExisting = goredis.NewScript(`return redis.call('PEXPIRE', KEYS[1], ARGV[2])`)

func extendWhatever(ctx context.Context, r Request) (bool, error) {
	return r.Confirms(ctx, extendExisting, LockKey(r.Key))
}
