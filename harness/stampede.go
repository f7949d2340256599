package harness

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/nemesis"
)

// stampede lets all clients wait for one key: each that gets it works shortly, releases and
// waits again. The requests that the service has handled are recorded when, for the first
// time, all wait but the holder, and again when the workload's time is over: a judge can
// tell how many a release costs, and whether that grows with the number of those who wait.
type stampede struct {
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

// countPause is the time between two questions to a service that has no figure.
const countPause = 50 * time.Millisecond

func newStampede(r *run) workload {
	s := r.cfg.Plan.Scenario
	return &stampede{others: s.Clients - 1, patience: s.TTL.Std() / 4, count: r.countRequests, all: make(chan struct{})}
}

// countRequests records how many requests the service has handled since it
// started. A node may have no figure just now, while a leader is elected: it is
// asked again until it has one, or the time for a call is over.
func (r *run) countRequests(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Plan.Scenario.Workload.OpTimeout.Std())
	defer cancel()
	n, err := r.service.Requests(ctx)
	for err != nil && clients.Wait(ctx, countPause) == nil {
		n, err = r.service.Requests(ctx)
	}
	if err != nil {
		return fmt.Errorf("ask service %s how many requests it has handled: %w", r.service.Name, err)
	}
	r.rec.Record(history.Event{Type: history.Count, Text: history.CountRequests, Value: n})
	return nil
}

func (s *stampede) run(ctx context.Context, a *actor) error {
	if err := a.repeat(ctx, s.round); err != nil {
		return err
	}
	return s.end(ctx)
}

func (s *stampede) round(ctx context.Context, a *actor) error {
	waits := false // a client that is killed may never come to wait
	a.acquires = func() { waits = true; s.wait() }
	answered := func() {
		if waits {
			waits = false
			s.wake()
		}
	}
	defer answered()
	_, err := a.under(ctx, a.keys[0], a.plan.AcquireTimeout.Std(), func(h *hold) error {
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
func (s *stampede) wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting++
	s.look()
}

func (s *stampede) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
	s.look()
}

// look notices whether all wait but one. The caller holds the lock.
func (s *stampede) look() {
	switch all := s.waiting == s.others; {
	case all && !closed(s.all):
		close(s.all)
	case !all && closed(s.all): // who was granted the lock waited a moment ago, and who released it does not wait yet
		s.all = make(chan struct{})
	}
}

// begin lets the measured time begin when all others wait, if it has not begun.
func (s *stampede) begin(ctx context.Context, a *actor) error {
	s.mu.Lock()
	begun, all := s.begun, s.all
	s.mu.Unlock()
	if begun {
		return nil
	}
	if !pause(ctx, all, s.patience) {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	// else the next holder waits for them
	mine := !s.begun && s.waiting == s.others && !closed(a.done)
	s.begun = s.begun || mine
	s.mu.Unlock()
	if !mine {
		return nil
	}
	return s.count(ctx)
}

// end lets the measured time end, for all clients.
func (s *stampede) end(ctx context.Context) error {
	s.mu.Lock()
	mine := s.begun && !s.ended
	s.ended = true
	s.mu.Unlock()
	if !mine {
		return nil
	}
	return s.count(ctx)
}
