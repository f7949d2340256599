package simulated

import (
	"context"
	"time"

	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
)

// virtualTime is how time passes for the director of a simulation. All of it is one goroutine, and
// the end of a context ends the simulation as a whole.
type virtualTime struct{ s *simulation }

func (v virtualTime) Now() int64 { return v.s.w.Now() }

func (v virtualTime) After(_ context.Context, d time.Duration, do func(whole bool)) (stop func() bool) {
	decided := false // it has been called, or never is
	v.s.w.After(d, func() {
		if !decided {
			decided = true
			do(true)
		}
	})
	return func() bool {
		stopped := !decided
		decided = true
		return stopped
	}
}

func (v virtualTime) Go(do func(clock.Waiter)) { v.s.start(func(t *sim.Task) { do(task{t}) }) }

// task is the Waiter of a task.
type task struct{ *sim.Task }

func (t task) Await(_ context.Context, early <-chan struct{}, d time.Duration, ready func() bool) {
	if d >= clock.Forever {
		d = sim.Forever
	}
	t.Task.Await(max(0, d), func() bool { return clock.Closed(early) || ready() })
}
