package harness

import (
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/scenarios"
)

// With next_after the next client asks while the holder still works, and not before its time.
func TestRelayBeforeRelease(t *testing.T) {
	t.Parallel()
	const after = 100 * time.Millisecond
	plan := calm("relay", 2, 1)
	const ms = scenarios.Duration(time.Millisecond)
	plan.Scenario.Workload.Think = scenarios.Range{Min: 300 * ms, Max: 300 * ms}
	plan.Scenario.Workload.NextAfter = scenarios.Range{Min: 100 * ms, Max: 100 * ms}
	plan.Scenario.Needs = scenarios.Needs{Grants: 6, Handovers: 2}
	decided.Run(t, func() {
		h := carried(t, redis.Setnx, plan)
		granted, waits := int64(0), 0
		for i := range h.Events {
			e := &h.Events[i]
			switch {
			case e.Type == history.Mark && e.Text != history.PhaseRun:
				granted = 0
			case e.Kind == history.Acquire && e.Type == history.OK:
				granted = e.Time
			case e.Kind == history.Release && e.Type == history.Invoke:
				granted = 0
			case e.Kind == history.Acquire && e.Type == history.Invoke && granted != 0:
				waits++
				if wait := time.Duration(e.Time - granted); wait < after {
					t.Errorf("op %d asks %v after the grant", e.Op, wait)
				}
			}
		}
		if waits < 2 {
			decided.Lacks("two clients that ask while another holds: it has %d", waits)
		}
	})
}

// The requests are counted when all wait, and at the end; between the two every client still
// waits but the one that holds. One client at a time asks, so no acquire finds another open.
func TestRelay(t *testing.T) {
	t.Parallel()
	decided.Run(t, func() {
		h := carried(t, redis.Setnx, calm("relay", 3, 1))
		unviolated(t, h) // nobody waits for a holder, so no key is handed over
		open, grants, clients := 0, 0, map[int32]bool{}
		for i := range h.Events {
			e := &h.Events[i]
			switch {
			case e.Type == history.Mark && e.Text != history.PhaseRun:
				open = 0
			case e.Kind == history.Acquire && e.Type == history.Invoke:
				if open++; open > 1 {
					t.Errorf("op %d asks while another does", e.Op)
				}
			case e.Kind == history.Release && e.Type == history.OK, e.Kind == history.Acquire && e.Type != history.OK:
				open--
			case e.Kind == history.Acquire:
				grants++
				clients[e.Client] = true
			}
		}
		if grants < 10 || len(clients) < 3 {
			decided.Lacks("ten grants to three clients: it has %d to %d", grants, len(clients))
		}
	})
}
