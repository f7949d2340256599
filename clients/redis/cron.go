package redis

import (
	"context"
	"errors"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/internal/cron"
)

// cronClaims are those of a scheduler that takes a key for each tick: an instance that dies takes
// its tick with it, and any other one has the next.
var cronClaims = clients.Claims{Token: "tick", Job: "at-most-once", Overlap: true, Misfire: "skip"}

// cronMemory is for how long a tick is remembered: as long as clocks may differ, and far longer.
const cronMemory = 5 * time.Minute

// Cron is the scheduler redis-cron.
var Cron = cronKind("redis-cron",
	"a scheduler whose instances claim each tick by SET NX PX with a key for the tick", cronRules{})

// CronLooks is the control broken-redis-cron-looks: it looks whether the tick's key is there, and
// sets it then. Two instances that look at the same time both execute the tick.
var CronLooks = cron.Control(checker.OncePerTick, cronKind("broken-redis-cron-looks",
	"redis-cron that looks whether the tick is claimed and then claims it, in two commands", cronRules{looks: true}))

// CronHolds is the control broken-redis-cron-holds: it takes one key for the job for a whole TTL,
// however short the period is. Meanwhile ticks come due that nobody executes.
var CronHolds = cron.Control(checker.MissedTick, cronKind("broken-redis-cron-holds",
	"redis-cron with one key for the job, which is held for a TTL though the period is shorter", cronRules{holds: true}))

// CronOpen is the control broken-redis-cron-open: where its claim ends with an error, it executes
// the tick all the same, so that none is lost.
var CronOpen = cron.Control(checker.OncePerTick, cronKind("broken-redis-cron-open",
	"redis-cron that executes a tick where its claim ends with an error", cronRules{open: true}))

// CronForever is the control broken-redis-cron-forever: it takes one key for the job, which has no
// expiry, and deletes it when the tick is done. A claim whose instance dies stays.
var CronForever = cron.Control(checker.MissedTick, cronKind("broken-redis-cron-forever",
	"redis-cron with one key for the job, without an expiry, which is deleted when a tick is done", cronRules{forever: true}))

// cronRules are what the schedulers on Redis differ in.
type cronRules struct{ looks, holds, open, forever bool }

func cronKind(name, about string, r cronRules) clients.Kind {
	return clients.Kind{Name: name, About: about, Service: "redis", Claims: cronClaims,
		// the tick of the dead is lost, and the next one is anybody's
		Handover:     func(time.Duration) time.Duration { return time.Second },
		StopHandover: cron.StopHandover,
		Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
			l, err := open(c, Algorithm{})
			if err != nil {
				return nil, err
			}
			return cron.New(c, &ticks{l, r}, cron.Rules{})
		},
	}
}

// ticks are keys by which instances claim what is due.
type ticks struct {
	lock  *lock
	rules cronRules
}

func (t *ticks) String() string { return "redis at " + t.lock.addr }

// Close closes the connections.
func (t *ticks) Close() error { return t.lock.client.Close() }

// key is the name of a tick's key, and for how long it stands.
func (t *ticks) key(job string, tick int64) (name string, stands time.Duration) {
	switch {
	case t.rules.holds:
		return LockKey(job), t.lock.ttl
	case t.rules.forever:
		return LockKey(job), 0
	}
	return LockKey(job) + ":" + strconv.FormatInt(tick, 10), cronMemory
}

// Claim claims the tick that is due.
func (t *ticks) Claim(ctx context.Context, job, owner string, due int64) (tick int64, err error) {
	claimed, err := t.set(ctx, job, owner, due)
	if !claimed {
		return 0, err
	}
	return due, err
}

// set sets the tick's key if it is not there.
func (t *ticks) set(ctx context.Context, job, owner string, tick int64) (claimed bool, err error) {
	ctx, cancel := clients.WithGrace(ctx, t.lock.grace)
	defer cancel()
	defer t.lock.cutter.Watch(ctx)()
	name, stands := t.key(job, tick)
	if !t.rules.looks {
		claimed, err = t.lock.client.SetNX(ctx, name, owner, stands).Result()
		if t.rules.open && err != nil {
			return true, nil
		}
		return claimed, err
	}
	there, err := t.lock.client.Exists(ctx, name).Result()
	if err != nil || there > 0 {
		return false, err
	}
	return true, t.lock.client.Set(ctx, name, owner, stands).Err()
}

// Done writes into the tick's key who has executed it.
func (t *ticks) Done(ctx context.Context, job, owner string, tick int64) error {
	defer t.lock.cutter.Watch(ctx)()
	name, _ := t.key(job, tick)
	if t.rules.forever {
		return t.lock.client.Del(ctx, name).Err()
	}
	err := t.lock.client.SetArgs(ctx, name, "done by "+owner, goredis.SetArgs{Mode: "XX", KeepTTL: true}).Err()
	if errors.Is(err, goredis.Nil) {
		return clients.ErrNotHeld
	}
	return err
}
