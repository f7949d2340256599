package harness_test

import (
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/scenarios"
)

// TestSimulatedNeverReleases: in virtual time, too, an application that never releases is killed
// instead and goes on as a fresh process, also beside a trap that waits for its client's request.
func TestSimulatedNeverReleases(t *testing.T) {
	t.Parallel()
	needed.Simulates(t)
	plan := simulatedPlan(1, "redis", scenarios.Fault{Kind: "hold", Target: "holder", When: "acquiring",
		Request: "acquire", InTurn: true, Way: "in", For: 100 * ms, Every: scenarios.Range{Min: 50 * ms, Max: 100 * ms}})
	plan.Scenario.Workload.NeverRelease = true
	h, v := judged(t, simulate(t, built(t, "redislock"), plan))
	for _, p := range v.Properties {
		if p.Outcome == checker.Violated && p.Blame() == checker.Defect {
			t.Errorf("%s: %+v", p.Name, p.Violations)
		}
	}
	grants, exits := 0, 0
	for i := range h.Events {
		switch e := &h.Events[i]; {
		case e.Kind == history.Release && e.Type == history.Invoke:
			t.Fatalf("a release: %+v", e)
		case e.Kind == history.Acquire && e.Type == history.OK:
			grants++
		case e.Type == history.Exit:
			exits++
		}
	}
	if grants < 3 || exits < grants {
		t.Errorf("%d grants, and %d processes ended", grants, exits)
	}
}
