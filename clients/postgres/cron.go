package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/internal/cron"
	"github.com/lockchaos/lockchaos/internal/logins"
)

// Cron is the scheduler pg-cron. A row says until when the job is locked, by the server's clock,
// as the rows of ShedLock do (ShedLock's README, "JdbcTemplate": lock_until), and which tick was
// done last, which those do not.
var Cron = cronKind("pg-cron",
	"a scheduler whose instances claim a job's row where locked_until < now() and the tick is not done yet", cronTake, cronKeeps)

// CronExact is the scheduler pg-cron-exact: pg-cron whose tick is marked as done in the transaction
// of its effect. Its store lies in the same database. The row has one owner and one tick at a time,
// so an effect that comes late, or a second time, finds no row to mark, and is refused.
var CronExact = func() clients.Kind {
	k := cronOf("pg-cron-exact", "pg-cron whose row says that a tick is done by the transaction that has its effect", cronKeeps,
		func(p *pool, _ clients.Config) cron.Claimer { return markedJobs{givingJobs{jobs{rows{p}, cronTake}}} })
	k.Claims.Job, k.Writes = "exactly-once", "guarded"
	return k
}()

// CronAll is the scheduler pg-cron-all: pg-cron whose instances execute every tick, one after the
// other. What could not be executed in time is made up for.
var CronAll = func() clients.Kind {
	k := cronOf("pg-cron-all", "pg-cron whose instances make up for each tick that none could execute, one after the other", cronKeeps,
		func(p *pool, c clients.Config) cron.Claimer {
			return owedJobs{givingJobs{jobs{rows{p}, cronTakeAll}}, c.Every}
		})
	k.Claims.Misfire = "all"
	return k
}()

// CronSkips is the control broken-pg-cron-skips: it claims that each tick is made up for, and its
// instances execute the latest one only.
var CronSkips = cron.Control(checker.MissedTick, func() clients.Kind {
	k := cronKind("broken-pg-cron-skips",
		"pg-cron that claims to make up for each tick, though its instances execute the latest one only", cronTake, cronKeeps)
	k.Claims.Misfire = "all"
	return k
}())

// CronMarksAfter is the control broken-pg-cron-marks-after: it claims that each effect comes once,
// and marks a tick as done in a transaction of its own, after the effect. An instance that dies
// between the two leaves a tick that another one executes again.
var CronMarksAfter = cron.Control(checker.OncePerTick, func() clients.Kind {
	k := cronKind("broken-pg-cron-marks-after",
		"pg-cron that claims exactly once, though it marks a tick as done in another transaction than its effect", cronTake, cronKeeps)
	k.Claims.Job = "exactly-once"
	return k
}())

// CronMarksBefore is the control broken-pg-cron-marks-before: it claims that each effect comes
// once, and marks a tick as done when it claims it. An instance that dies before its effect leaves
// a tick that nobody executes again.
var CronMarksBefore = cron.Control(checker.OncePerTick, func() clients.Kind {
	k := cronKind("broken-pg-cron-marks-before",
		"pg-cron that claims exactly once, though it marks a tick as done before its effect", cronTakeMarks, cronKeeps)
	k.Claims.Job = "exactly-once"
	return k
}())

// The controls are pg-cron but for one thing each.
var (
	// CronForgets is the control broken-pg-cron-forgets: its row forgets which tick was done. An
	// instance that is late finds the row free and executes the tick again.
	CronForgets = cron.Control(checker.OncePerTick, cronKind("broken-pg-cron-forgets",
		"pg-cron that forgets which tick was done when it unlocks the row, so a late instance executes it again",
		cronTakeForgets, cron.Rules{Tells: true}))
	// CronOverlaps is the control broken-pg-cron-overlaps: it claims a tick that is not done,
	// even while a client still executes an older one.
	CronOverlaps = cron.Control(checker.Overlap, cronKind("broken-pg-cron-overlaps",
		"pg-cron that looks at the tick only, and not whether an older one is still executed", cronTakeOverlaps, cron.Rules{Tells: true}))
	// CronForever is the control broken-pg-cron-forever: the lock of a dead instance never ends.
	CronForever = cron.Control(checker.Handover, cronKind("broken-pg-cron-forever",
		"pg-cron whose rows stay locked until they are unlocked, also when their instance is dead", cronTakeForever, cronKeeps))
	// CronSilent is the control broken-pg-cron-silent: it does not tell its application that the
	// time of an execution is over.
	CronSilent = cron.Control(checker.StopDeadline, cronKind("broken-pg-cron-silent",
		"pg-cron that never tells its application that the time of an execution is over", cronTake, cron.Rules{Retries: true}))
	// CronLeaves is the control broken-pg-cron-leaves: an instance that is stopped in order leaves
	// its row locked, and every other one waits until its time is over.
	CronLeaves = cron.Control(checker.ReleasedOnStop, cronOf("broken-pg-cron-leaves",
		"pg-cron whose instances leave the row locked when they are stopped in order", cronKeeps,
		func(p *pool, _ clients.Config) cron.Claimer { return jobs{rows{p}, cronTake} }))
)

// CronOnce is the control broken-pg-cron-once: it claims that no tick is executed twice. A tick
// whose instance is lost is another one's all the same, and that instance may have had its effect.
var CronOnce = cron.Control(checker.OncePerTick, func() clients.Kind {
	k := cronKind("broken-pg-cron-once",
		"pg-cron that claims at most once, though a tick of an instance that is lost is executed again", cronTake, cronKeeps)
	k.Claims.Job = "at-most-once"
	return k
}())

// cronKeeps are the rules of pg-cron.
var cronKeeps = cron.Rules{Retries: true, Tells: true}

// cronClaims are what pg-cron promises. A tick whose instance was lost is executed again, as long
// as it is the latest.
var cronClaims = clients.Claims{Token: "tick", Job: "at-least-once", Misfire: "once", Stops: int64(cronStops)}

// cronStops is for how long an application may still write when the time of its execution is over:
// for one that was told, an answer on its way.
const cronStops = 100 * time.Millisecond

// The statements. clock_timestamp() is the time at which it is evaluated (see leaseTake).
const (
	cronTable = `CREATE TABLE IF NOT EXISTS ` + logins.CronTable + `
		(key text PRIMARY KEY, owner text NOT NULL, locked_until timestamptz NOT NULL, tick bigint NOT NULL, done bigint NOT NULL)`
	cronInsert    = `INSERT INTO ` + logins.CronTable + ` AS j VALUES ($1, $2, clock_timestamp() + $4 * interval '1 microsecond', $3, `
	cronConflict  = `) ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, tick = excluded.tick, locked_until = `
	cronClaim     = cronInsert + `0` + cronConflict
	cronUntil     = `clock_timestamp() + $4 * interval '1 microsecond'`
	cronTake      = cronClaim + cronUntil + ` WHERE j.locked_until < clock_timestamp() AND j.done < excluded.tick RETURNING tick`
	cronTakeMarks = cronInsert + `$3` + cronConflict + cronUntil + `, done = excluded.tick
		WHERE j.locked_until < clock_timestamp() AND j.done < excluded.tick RETURNING tick`
	cronTakeForgets  = cronClaim + cronUntil + ` WHERE j.locked_until < clock_timestamp() RETURNING tick`
	cronTakeOverlaps = cronClaim + cronUntil + ` WHERE j.tick < excluded.tick RETURNING tick`
	cronTakeForever  = cronClaim + `'infinity' WHERE j.locked_until < clock_timestamp() AND j.done < excluded.tick RETURNING tick`
	// cronNext is the first tick that is not done. A row that was just made has one that is not.
	cronNext    = `CASE WHEN j.done < j.tick THEN j.tick ELSE j.tick + $5 END`
	cronTakeAll = cronInsert + `0) ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, locked_until = ` + cronUntil + `, tick = ` + cronNext + `
		WHERE j.locked_until < clock_timestamp() AND ` + cronNext + ` <= excluded.tick RETURNING tick`
	cronDone   = `UPDATE ` + logins.CronTable + ` SET locked_until = '-infinity', done = $3` + cronOwn
	cronGiveUp = `UPDATE ` + logins.CronTable + ` SET locked_until = '-infinity'` + cronOwn
	cronOwn    = ` WHERE key = $1 AND owner = $2 AND tick = $3 RETURNING done`
)

func cronKind(name, about, claim string, r cron.Rules) clients.Kind {
	return cronOf(name, about, r, func(p *pool, _ clients.Config) cron.Claimer { return givingJobs{jobs{rows{p}, claim}} })
}

// cronOf is a scheduler whose instances claim their ticks at what is made of a pool.
func cronOf(name, about string, r cron.Rules, at func(*pool, clients.Config) cron.Claimer) clients.Kind {
	return clients.Kind{Name: name, About: about, Service: "postgres", Claims: cronClaims,
		LostGrace: func(ttl time.Duration) time.Duration { return ttl },
		// until the lock of the dead is over, and a claim that was refused meanwhile is made again
		Handover:     func(ttl time.Duration) time.Duration { return ttl + time.Second },
		StopHandover: cron.StopHandover,
		Open: func(ctx context.Context, c clients.Config) (clients.Lock, error) {
			p, err := newPool(c, cronTable)
			if err != nil {
				return nil, err
			}
			p.Warm(ctx)
			return cron.New(c, at(p, c), r)
		},
	}
}

// jobs are rows in a table, one for each job.
type jobs struct {
	rows
	claim string
}

// Claim locks the job's row for the tick.
func (j jobs) Claim(ctx context.Context, key, owner string, due int64) (tick int64, err error) {
	return j.take(ctx, key, owner, due, j.ttl.Microseconds())
}

// take claims a tick by the statement.
func (j jobs) take(ctx context.Context, args ...any) (tick int64, err error) {
	tick, err = j.ask(ctx, j.claim, args...)
	if errors.Is(err, clients.ErrNotHeld) || is(err, lockNotAvailable) {
		return 0, nil // another one has it, or is about to
	}
	return tick, err
}

// Done unlocks the job's row, and notes the tick.
func (j jobs) Done(ctx context.Context, key, owner string, tick int64) error {
	_, err := j.ask(ctx, cronDone, key, owner, tick)
	return err
}

// givingJobs are rows that an instance unlocks when it is stopped in order.
type givingJobs struct{ jobs }

// GiveUp unlocks the job's row, whose tick is not done.
func (j givingJobs) GiveUp(ctx context.Context, key, owner string, tick int64) error {
	_, err := j.ask(ctx, cronGiveUp, key, owner, tick)
	return err
}

// owedJobs are rows whose ticks are executed one after the other, as many as there are.
type owedJobs struct {
	givingJobs
	every time.Duration
}

// Claim locks the job's row for the first tick that is not done, if that is due.
func (j owedJobs) Claim(ctx context.Context, key, owner string, due int64) (tick int64, err error) {
	return j.take(ctx, key, owner, due, j.ttl.Microseconds(), j.every.Milliseconds())
}

// markedJobs are rows whose ticks are marked as done by the store, with their effects.
type markedJobs struct{ givingJobs }

// Done unlocks the job's row. ErrNotHeld: the tick is not done, or the owner has it no more.
func (j markedJobs) Done(ctx context.Context, key, owner string, tick int64) error {
	done, err := j.ask(ctx, cronGiveUp, key, owner, tick)
	if err == nil && done != tick {
		return clients.ErrNotHeld
	}
	return err
}
