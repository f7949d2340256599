package workload

import (
	"context"
	"time"

	"github.com/lockchaos/lockchaos/internal/harness/clock"
)

// everyStep is the workload "steps": the shortest in which each client passes every step. On one
// key it waits for a grant and works under it, and gives one wait up; the first client then waits
// for a second grant. It is over when all have: so few instants can be tried one by one.
type everyStep struct{ work, long time.Duration }

func newEveryStep(s Setting) Job {
	w := s.Scenario.Workload
	return &everyStep{work: w.Think.Max.Std(), long: w.AcquireTimeout.Std()}
}

// Run takes the client through its turns, each a quarter of the work after the one before. With
// nothing disturbed the first client asks briefly for a key that is free. The second client asks
// while the first works, and gives up before that has done; then it waits. So does the first while
// the second works.
func (t *everyStep) Run(ctx context.Context, a *Actor) error {
	defer a.Director.RoundOver(a.Number) // what a trap waits for does not come any more
	short, wait := t.work/4, t.work/4
	turns := []time.Duration{short, t.long}
	switch a.Number {
	case 1:
		turns, wait = []time.Duration{short, short, t.long}, 0
	case 2:
	default: // a queue: it stands behind the second
		turns, wait = turns[1:], t.work*3/4
	}
	for _, timeout := range turns {
		if err := a.wait(ctx, wait); err != nil || clock.Closed(a.Done) {
			return err
		}
		wait = t.work / 4
		_, err := a.under(ctx, a.Keys[0], timeout, func(h *hold) error { return a.count(ctx, h) })
		if err := a.Survive(ctx, err); err != nil {
			return err
		}
	}
	return nil
}
