package harness

import (
	"context"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/scenarios"
)

// On a machine that is busy with other work a run shows less in the time that
// was planned for it, and often too little for a pass. So it goes on for
// longer, up to as long again, while it shows more and more.

// prolongEvery is how often a run looks whether it has shown enough.
const prolongEvery = 20 * time.Millisecond

// spend lets the planned time pass: first that for faults, then noMore is
// closed, and the rest, then done.
func (r *run) spend(ctx context.Context, s scenarios.Scenario, noMore, done chan<- struct{}) {
	planned, quiet := s.Duration.Std(), s.Quiet.Std()
	enough := func() bool { return s.Enough > 0 && r.ids.enough(s) }
	stretch{planned - quiet, planned, int64(s.Needs.Bites), r.ids.bites.Load, r.ids.faults.Load, enough}.pass(ctx)
	close(noMore)
	stretch{quiet, planned, int64(s.Needs.Grants), r.ids.grants.Load, r.ids.grants.Load,
		func() bool { return false }}.pass(ctx)
	close(done)
}

// stretch is a time that is planned, and how much longer it may become
// (longer), until there is as much as is needed. It ends before if it shows
// nothing new for half of that, or when it has shown enough.
type stretch struct {
	planned, longer time.Duration
	needed          int64
	have, shown     func() int64
	enough          func() bool
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
		if s.enough() || left <= 0 && (s.have() >= s.needed || passed >= s.planned+s.longer ||
			time.Since(since) >= s.longer/2) {
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

// enough reports whether the run has shown Scenario.Enough times what it needs,
// and every planned fault has bitten.
func (n *numbers) enough(s scenarios.Scenario) bool {
	n.shown.mu.Lock()
	defer n.shown.mu.Unlock()
	return int(n.grants.Load()) >= s.Enough*s.Needs.Grants && n.shown.handovers >= s.Enough*s.Needs.Handovers &&
		int(n.bites.Load()) >= s.Enough*s.Needs.Bites && len(n.shown.bitten) == len(s.Faults)
}

// shown is what a run has shown, as far as that is known before it is judged.
// The zero value is ready.
type shown struct {
	mu        sync.Mutex
	holders   map[string]int32 // key → the client that it was granted last
	handovers int              // grants to another client than the last one
	bitten    map[int]bool     // the planned faults that have bitten, by their places
}

// granted notes a grant.
func (s *shown) granted(key string, client int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.holders[key]; ok && last != client {
		s.handovers++
	}
	if s.holders == nil {
		s.holders = map[string]int32{}
	}
	s.holders[key] = client
}

// bit notes that the planned fault at a place has bitten.
func (s *shown) bit(place int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bitten == nil {
		s.bitten = map[int]bool{}
	}
	s.bitten[place] = true
}
