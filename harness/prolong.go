package harness

import (
	"context"
	"time"

	"github.com/lockchaos/lockchaos/scenarios"
)

// On a machine that is busy with other work a run shows less in the time that was planned for it, and often too little for a pass. So it
// goes on for longer, up to as long again, while it shows more and more.

// prolongEvery is how often a run looks whether it has shown enough.
const prolongEvery = 20 * time.Millisecond

// spend lets the planned time pass: first that for faults, then noMore is closed, and the rest, then done.
func (r *run) spend(ctx context.Context, s scenarios.Scenario, noMore, done chan<- struct{}) {
	planned, quiet := s.Duration.Std(), s.Quiet.Std()
	stretch{planned - quiet, planned, int64(s.Needs.Bites), r.ids.bites.Load, r.ids.faults.Load}.pass(ctx)
	close(noMore)
	stretch{quiet, planned, int64(s.Needs.Grants), r.ids.grants.Load, r.ids.grants.Load}.pass(ctx)
	close(done)
}

// stretch is a time that is planned, and how much longer it may become (longer), until there is as much as is needed. It ends before if it
// shows nothing new for half of that.
type stretch struct {
	planned, longer time.Duration
	needed          int64
	have, shown     func() int64
}

// pass returns when the stretch is over.
func (s stretch) pass(ctx context.Context) {
	began := time.Now()
	last, since := s.shown(), began
	for {
		passed := time.Since(began)
		if now := s.shown(); now != last {
			last, since = now, time.Now()
		}
		left := s.planned - passed
		if left <= 0 && (s.have() >= s.needed || passed >= s.planned+s.longer || time.Since(since) >= s.longer/2) {
			return
		}
		if left <= 0 || left > prolongEvery {
			left = prolongEvery
		}
		if !pause(ctx, nil, left) {
			return
		}
	}
}
