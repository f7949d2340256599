package workload

import (
	"context"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/nemesis"
)

// herd is the workload "stampede": all clients wait for one key. Each that gets it works
// shortly, releases and waits again. The requests that the service has handled are recorded when,
// for the first time, all wait but the holder, and again when the workload's time is over. From
// that a judge can tell how many a release costs, and whether that grows with the number of
// those who wait.
type herd struct {
	others int
	// patience is how long a holder waits for the others before the measured time begins.
	patience time.Duration
	count    func(ctx context.Context) error

	mu      sync.Mutex
	waiting int
	all     chan struct{} // closed while all others wait
	begun   bool          // the first count is recorded
	ended   bool          // the second
}

func newHerd(s Setting) Job {
	return &herd{others: s.Scenario.Clients - 1, patience: s.Scenario.TTL.Std() / 4, count: s.Count,
		all: make(chan struct{})}
}

func (s *herd) Run(ctx context.Context, a *Actor) error {
	if err := a.repeat(ctx, s.round); err != nil {
		return err
	}
	return s.end(ctx)
}

func (s *herd) round(ctx context.Context, a *Actor) error {
	waits := false // a client that is killed may never come to wait
	a.acquires = func() { waits = true; s.wait() }
	answered := func() {
		if waits {
			waits = false
			s.wake()
		}
	}
	defer answered()
	_, err := a.under(ctx, a.Keys[0], a.Plan.AcquireTimeout.Std(), func(h *hold) error {
		answered()
		if err := s.begin(ctx, a); err != nil {
			return err
		}
		if err := a.at(ctx, nemesis.AfterGrant, h); err != nil {
			return err
		}
		_, err := a.successor(ctx, h)
		return err
	})
	return err
}

// wait notes a client that waits, wake one that does not wait any more.
func (s *herd) wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting++
	s.look()
}

func (s *herd) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
	s.look()
}

// look notices whether all wait but one. The caller holds the lock.
func (s *herd) look() {
	switch all := s.waiting == s.others; {
	case all && !clock.Closed(s.all):
		close(s.all)
	case !all && clock.Closed(s.all): // who was granted the lock waited a moment ago, and who released it does not wait yet
		s.all = make(chan struct{})
	}
}

// begin lets the measured time begin when all others wait, if it has not begun.
func (s *herd) begin(ctx context.Context, a *Actor) error {
	s.mu.Lock()
	begun, all := s.begun, s.all
	s.mu.Unlock()
	if begun {
		return nil
	}
	if !clock.Pause(ctx, all, s.patience) {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	// else the next holder waits for them
	mine := !s.begun && s.waiting == s.others && !clock.Closed(a.Done)
	s.begun = s.begun || mine
	s.mu.Unlock()
	if !mine {
		return nil
	}
	return s.count(ctx)
}

// end lets the measured time end, for all clients.
func (s *herd) end(ctx context.Context) error {
	s.mu.Lock()
	mine := s.begun && !s.ended
	s.ended = true
	s.mu.Unlock()
	if !mine {
		return nil
	}
	return s.count(ctx)
}
