package simulated

import (
	"context"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
)

// probe lets a client that has asked for nothing yet try every key. It reports whether each was
// granted.
func (s *simulation) probe(ctx context.Context, t *sim.Task, c *simClient, phase string) (free bool, err error) {
	c.Recorder, c.Claims = s.Recorder, s.Claims()
	if err := s.open(ctx, t, c); err != nil {
		return false, err
	}
	s.Enter(phase)
	free = true
	for _, key := range s.Keys {
		granted, err := s.tryKey(ctx, t, c, key, s.FirstAsk())
		if err != nil {
			return false, err
		}
		free = free && granted
	}
	return free, nil
}

// askEach lets each client of the workload ask for a key that is free and give it back, one after
// the other, as a real run does: until one is granted nothing for as long as the judge may demand.
// It asks twice at least: a lock may notice by the end of an acquire that its connection has gone.
func (s *simulation) askEach(ctx context.Context, t *sim.Task) error {
	if s.Claims().Permits <= 0 || s.cfg.Plan.Scenario.Workload.NeverRelease {
		return nil // it is no lock, or nobody gives back what the fresh client has
	}
	s.Enter(history.PhaseEach)
	for _, c := range s.clients {
		if c.dead {
			continue
		}
		c.task = t
		granted, began := false, s.w.Now()
		for round := 0; !granted && (round < 2 || time.Duration(s.w.Now()-began) < s.FirstAsk()); round++ {
			var err error
			if granted, err = s.tryKey(ctx, t, c, s.Keys[0], s.Patience()+record.AskMargin); err != nil {
				return err
			}
		}
		if !granted {
			break
		}
	}
	return nil
}

// tryKey asks for a key until it is granted, and gives it back, or until the limit is over.
func (s *simulation) tryKey(ctx context.Context, t *sim.Task, c *simClient, key string, limit time.Duration) (granted bool, err error) {
	for began := s.w.Now(); ; t.Sleep(record.AskEvery) {
		id, a, err := c.Do(ctx, wire.Op{Kind: history.Acquire, Key: key, Timeout: limit})
		if err != nil {
			return false, err
		}
		switch workload := s.cfg.Plan.Scenario.Workload; {
		case a.Result != wire.ResultOK:
		case workload.NeverRelease:
			return true, nil
		default:
			_, _, err := c.Do(ctx, wire.Op{Kind: history.Release, Key: key, Grant: id,
				Timeout: workload.OpTimeout.Std()})
			return true, err
		}
		if time.Duration(s.w.Now()-began) >= limit {
			return false, nil
		}
	}
}
