package harness

import (
	"context"
	"time"

	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/scenarios"
)

// On a machine that is busy with other work a run shows less in the time that
// was planned for it, and often too little for a pass. So it goes on for
// longer, up to as long again, while it shows more and more.

// spend lets the planned time pass: first that for faults, then noMore is
// closed, and the rest, then done.
func (r *run) spend(ctx context.Context, s scenarios.Scenario, noMore, done chan<- struct{}) {
	planned, quiet := s.Duration.Std(), s.Quiet.Std()
	shown := func() bool { return s.Enough > 0 && enough(&r.IDs, s) }
	plannedTime{planned - quiet, planned, int64(s.Needs.Bites), r.IDs.Bites, r.IDs.Faults, shown}.pass(ctx)
	close(noMore)
	plannedTime{quiet, planned, int64(s.Needs.Grants), r.IDs.Grants, r.IDs.Grants, func() bool { return false }}.pass(ctx)
	close(done)
}

// plannedTime is a time that is planned, and how much longer it may become
// (longer), until there is as much as is needed. It ends before if it shows
// nothing new for half of that, or when it has shown enough.
type plannedTime struct {
	planned, longer time.Duration
	needed          int64
	have, shown     func() int64
	enough          func() bool
}

// pass returns when the stretch is over.
func (s plannedTime) pass(ctx context.Context) {
	began := time.Now()
	last, since := s.shown(), began
	for {
		passed := time.Since(began)
		if now := s.shown(); now != last {
			last, since = now, time.Now()
		}
		left := s.planned - passed
		if s.enough() || left <= 0 && (s.have() >= s.needed || passed >= s.planned+s.longer ||
			time.Since(since) >= s.longer/2) {
			return
		}
		if left <= 0 || left > record.ProlongEvery {
			left = record.ProlongEvery
		}
		if !clock.Pause(ctx, nil, left) {
			return
		}
	}
}

// enough reports whether the run has shown Scenario.Enough times what it needs,
// and every planned fault has bitten.
func enough(n *wire.Numbers, s scenarios.Scenario) bool {
	handovers, faults := n.Shown()
	return int(n.Grants()) >= s.Enough*s.Needs.Grants && handovers >= s.Enough*s.Needs.Handovers &&
		int(n.Bites()) >= s.Enough*s.Needs.Bites && faults == len(s.Faults)
}
