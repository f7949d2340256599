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

// Del is the control broken-del: redis-setnx whose release is a bare DEL, with
// no look at whose key it is. A client that was frozen for longer than the TTL
// deletes the key of the client that has it now, and a third gets it while the
// second believes in its lease. The manual of SET warns of it ("Patterns").
var Del = clients.Kind{
	Name:    "broken-del",
	About:   "redis-setnx released by a bare DEL, whoever has the key by then",
	Service: "redis",
	Claims:  clients.Claims{Validity: "from_invocation", Token: "none", Permits: 1},
	Control: checker.StolenRelease,
	Open:    clients.With(redis.Open, redis.Algorithm{Free: deleteAny}),
}

func deleteAny(ctx context.Context, r redis.Request) (bool, error) {
	err := r.Client.Del(ctx, redis.LockKey(r.Key)).Err()
	return err == nil, err
}

// ReleaseUnseen is the control broken-release-unseen: redis-setnx whose release looks for a value
// that the key never has, and says ok whatever came of it. The key stays until its lease is over.
var ReleaseUnseen = clients.Kind{
	Name:    "broken-release-unseen",
	About:   "redis-setnx whose release compares with a value that the key never has, and says ok",
	Service: "redis",
	Claims:  redis.Setnx.Claims,
	Control: checker.KeptKey,
	Open:    clients.With(redis.OpenRenewable, redis.Algorithm{Free: freeNothing}),
}

func freeNothing(ctx context.Context, r redis.Request) (bool, error) {
	err := r.Client.Get(ctx, redis.LockKey(r.Key)).Err()
	return err == nil || errors.Is(err, goredis.Nil), nil
}

// TwoStep is the control broken-two-step: redis-setnx whose release reads whose
// key it is, and deletes the key with a second command. If the lease ends
// between the two, it deletes the key of the next holder. redis-py did so until
// its release 3.0 (https://github.com/redis/redis-py/pull/1031).
var TwoStep = clients.Kind{
	Name:    "broken-two-step",
	About:   "redis-setnx whose release looks whose key it is and deletes it with a second command, when it may be another's",
	Service: "redis",
	Claims:  clients.Claims{Validity: "from_invocation", Token: "none", Permits: 1},
	Control: checker.MutualExclusion,
	Open:    clients.With(redis.Open, redis.Algorithm{Free: lookThenDelete}),
}

func lookThenDelete(ctx context.Context, r redis.Request) (bool, error) {
	value, err := r.Client.Get(ctx, redis.LockKey(r.Key)).Result()
	if errors.Is(err, goredis.Nil) || err == nil && value != r.Value {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return deleteAny(ctx, r)
}

// SetnxExpire is the control broken-setnx-expire: the key is taken with SETNX and given its expiry
// with a second command, as was usual before SET had the options NX and PX (Redis 2.6.12). A client
// that dies in between leaves a key that never expires, and nobody ever gets the lock again.
var SetnxExpire = clients.Kind{
	Name:    "broken-setnx-expire",
	About:   "SETNX, some milliseconds of the application's own work, then EXPIRE: whoever dies in between leaves the key for ever",
	Service: "redis",
	Claims:  clients.Claims{Validity: "from_invocation", Token: "none", Confirms: []string{"release"}, Permits: 1},
	Control: checker.StuckLock,
	Open:    clients.With(redis.Open, redis.Algorithm{Take: takeThenExpire}),
}

// ownWork is what the application does between the two commands: it writes a line to a log, say.
const ownWork = 20 * time.Millisecond

func takeThenExpire(ctx context.Context, r redis.Request) (redis.Answer, error) {
	taken, err := r.Client.SetNX(ctx, redis.LockKey(r.Key), r.Value, 0).Result()
	if err != nil || !taken {
		return redis.Answer{}, err
	}
	work := time.NewTimer(ownWork)
	defer work.Stop()
	select {
	case <-work.C:
	case <-ctx.Done():
		return redis.Answer{}, ctx.Err()
	}
	err = r.Client.PExpire(ctx, redis.LockKey(r.Key), r.TTL).Err()
	return redis.Answer{Taken: err == nil}, err
}

// NoTTL is the control broken-no-ttl: SET NX without an expiry. Nothing goes wrong as long
// as every holder lives to release; the first that dies leaves the lock taken for ever.
var NoTTL = clients.Kind{
	Name:    "broken-no-ttl",
	About:   "SET NX without an expiry: a holder that dies leaves the key for ever",
	Service: "redis",
	Claims: clients.Claims{Validity: "from_invocation", Token: "none", Confirms: []string{"release"}, Permits: 1,
		NoExpiry: true},
	Control: checker.StuckLock,
	Open:    clients.With(redis.Open, redis.Algorithm{Take: takeForEver}),
}

func takeForEver(ctx context.Context, r redis.Request) (redis.Answer, error) {
	taken, err := r.Client.SetNX(ctx, redis.LockKey(r.Key), r.Value, 0).Result()
	return redis.Answer{Taken: taken}, err
}

// RetryBlind is the control broken-retry-blind: redis-setnx whose SET NX is sent
// again when its reply was lost, as clients of Redis do unless they are told not
// to, and whose lock does not know of that. The second SET finds the key that the
// first one made, the lock takes it for somebody else's, and says "busy". The key
// has an owner who does not know: nobody gives it back before its TTL ends.
var RetryBlind = clients.Kind{
	Name:    "broken-retry-blind",
	About:   "redis-setnx that repeats a SET NX whose reply was lost, and takes its own key for another's",
	Service: "redis",
	Claims: clients.Claims{Validity: "from_invocation", Token: "none", Confirms: []string{"release", "held"},
		Permits: 1},
	Control: checker.FalseBusy,
	Open:    clients.With(redis.Open, redis.Algorithm{Take: takeAgain}),
}

// retries is how often go-redis itself repeats a command, if it is not told otherwise.
const retries = 3

func takeAgain(ctx context.Context, r redis.Request) (redis.Answer, error) {
	var err error
	for range 1 + retries {
		err = r.Client.SetArgs(ctx, redis.LockKey(r.Key), r.Value, goredis.SetArgs{Mode: "NX", TTL: r.TTL}).Err()
		if err == nil || errors.Is(err, goredis.Nil) || ctx.Err() != nil {
			break
		}
	}
	if errors.Is(err, goredis.Nil) {
		return redis.Answer{}, nil
	}
	return redis.Answer{Taken: err == nil}, err
}

// TokenClock is the control broken-token-clock: redis-setnx whose "fencing token" is the
// server's clock in whole seconds. The grants of one second share it, so a store cannot tell
// which of them is the newest; and a clock that is set back gives a later grant a smaller one.
var TokenClock = clients.Kind{
	Name:    "broken-token-clock",
	About:   "redis-setnx whose fencing token is the server's clock in whole seconds, shared by all grants of a second",
	Service: "redis",
	Claims: clients.Claims{Validity: "from_invocation", Token: "fencing",
		Confirms: []string{"renew", "release", "held"}, Permits: 1},
	Control: checker.TokenOrder,
	Open:    clients.With(redis.OpenRenewable, redis.Algorithm{Take: takeWithClock}),
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
