package workload

import (
	"context"
	"time"

	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/scenarios"
)

// everyStep is the workload "steps": the shortest in which each client passes every step. On one
// key it waits for a grant and works under it, and gives one wait up; the first client asks for a
// key that it has just given back, and later waits for another grant. Where the lock can be asked,
// it works under that grant for longer than its lease, and then asks; the second client waits for
// the lease to end. Where the lock knows readers, the second client waits as one, and the first
// joins it. It is over when all have: so few instants can be tried one by one.
type everyStep struct {
	lease, work, long time.Duration
	beyond            time.Duration // work that outlasts the lease; 0: none
	readers           bool
}

func newEveryStep(s Setting) Job {
	w := s.Scenario.Workload
	t := &everyStep{lease: s.Scenario.TTL.Std(), work: w.Think.Max.Std(), long: w.AcquireTimeout.Std(), readers: w.Readers > 0}
	if s.Scenario.OutlastsLease() {
		t.beyond = s.Scenario.BeyondLease().Std()
	}
	return t
}

// turn is one acquire of a client, and what it does with the grant.
type turn struct {
	wait, timeout time.Duration // before it asks; until it gives up
	reads         bool
	does          func(ctx context.Context, a *Actor, h *hold) error
}

// turns are those of a client, each a quarter of the work after the one before. With nothing
// disturbed the first client asks briefly for a key that is free, gives it back and asks again. The
// second client asks while the first works, and gives up before that has done; then it waits. So
// does the first while the second works. If that then outlasts its lease, the second asks again
// shortly before the lease ends.
func (t *everyStep) turns(client int32) []turn {
	short, beyond := t.work/4, t.beyond > 0
	switch client {
	case 1:
		last := turn{short, t.long, false, countWork}
		if beyond {
			last.does = t.outlast
		}
		return []turn{{0, short, false, idle}, {0, t.long, false, countWork}, {short, short, t.readers, countWork}, last}
	case 2:
		all := []turn{{short, short, false, countWork}, {short, t.long, t.readers, countWork}}
		if beyond {
			all = append(all, turn{t.lease - short, t.long, false, countWork})
		}
		return all
	}
	return []turn{{t.work * 7 / 8, t.long, false, countWork}} // a queue: it stands behind the second
}

// Run takes the client through its turns.
func (t *everyStep) Run(ctx context.Context, a *Actor) error {
	defer a.Director.RoundOver(a.Number) // what a trap waits for does not come any more
	for _, one := range t.turns(a.Number) {
		if err := a.wait(ctx, one.wait); err != nil || clock.Closed(a.Done) {
			return err
		}
		does := one.does
		if one.reads {
			does = lookTwice
		}
		_, err := a.granted(ctx, wire.Op{Key: a.Keys[0], Timeout: one.timeout, Reader: one.reads},
			func(h *hold) error { return does(ctx, a, h) })
		if err := a.Survive(ctx, err); err != nil {
			return err
		}
	}
	return nil
}

func idle(context.Context, *Actor, *hold) error { return nil }

func countWork(ctx context.Context, a *Actor, h *hold) error { return a.count(ctx, h) }

func lookTwice(ctx context.Context, a *Actor, h *hold) error { return a.lookTwice(ctx, h) }

// outlast is work that lasts longer than the lease. It does not renew the grant: that would be an
// act under a lease that is over. It asks, and writes only if the lock says that it still holds.
func (t *everyStep) outlast(ctx context.Context, a *Actor, h *hold) error {
	late := *a
	late.Plan.Renew, late.Plan.Guard = false, GuardCheck
	late.Plan.Think = scenarios.Range{Min: scenarios.Duration(t.beyond), Max: scenarios.Duration(t.beyond)}
	return late.count(ctx, h)
}
