package redis

import (
	"context"
	"errors"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
)

// GrantUnchecked, RenewUnchecked and WatchdogLenient are broken on purpose: they take an answer
// for a yes that is none. For the first two it is an error that the server answers, such as one
// that has become read-only, to an acquire or to a renewal. For the third it is the answer that
// there is no such key, as if only another client's key showed that the lease was lost.
var (
	GrantUnchecked = clients.Kind{
		Name:    "broken-grant-unchecked",
		About:   "redis-setnx that takes every answer but \"taken\" for a grant, an error too",
		Service: "redis",
		Claims:  Setnx.Claims,
		Control: checker.MutualExclusion,
		Open:    clients.With(OpenRenewable, Algorithm{Take: takeUnchecked}),
	}
	RenewUnchecked = clients.Kind{
		Name:    "broken-renew-unchecked",
		About:   "redis-setnx whose renewal says that the lease was renewed when the server answered an error",
		Service: "redis",
		Claims:  Setnx.Claims,
		Control: checker.MutualExclusion,
		Open:    clients.With(OpenRenewable, Algorithm{Extend: extendUnchecked}),
	}
	WatchdogLenient = clients.Kind{
		Name:    "broken-watchdog-lenient",
		About:   "redis-watchdog that never looks at its clock, and whose renewal takes a key that has gone for no loss while nobody else has it",
		Service: "redis",
		Claims: clients.Claims{Validity: "session", Token: "none", Confirms: []string{"release", "held"},
			Permits: 1},
		LostGrace: Watchdog.LostGrace,
		Renews:    true,
		Control:   checker.MutualExclusion,
		Open:      clients.With(openDeaf, Algorithm{Extend: extendUnlessTaken}),
	}
)

func takeUnchecked(ctx context.Context, r Request) (Answer, error) {
	a, err := takeSetnx(ctx, r)
	if saidError(err) {
		return Answer{Taken: true}, nil
	}
	return a, err
}

func extendUnchecked(ctx context.Context, r Request) (bool, error) {
	ours, err := extendIfOwn(ctx, r)
	if saidError(err) {
		return true, nil
	}
	return ours, err
}

// saidError reports whether an error is one that the server answered.
func saidError(err error) bool {
	_, said := errors.AsType[goredis.Error](err)
	return said
}

// extendFree sets the expiry of our key anew, and answers no only if another has the key.
var extendFree = goredis.NewScript(`
local now = redis.call('GET', KEYS[1])
if now and now ~= ARGV[1] then
	return 0
end
if now then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1`)

func extendUnlessTaken(ctx context.Context, r Request) (bool, error) {
	return r.Confirms(ctx, extendFree, LockKey(r.Key))
}
