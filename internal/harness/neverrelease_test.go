package harness

import (
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/scenarios"
)

// TestNeverReleases: an application that never releases is killed instead, goes
// on as a fresh process, and breaks nothing. So it is beside a trap that waits
// for its client's next request, and in the probe.
func TestNeverReleases(t *testing.T) {
	p := plan("redis-setnx", 4*time.Second)
	p.Scenario.TTL, p.Scenario.Needs = scenarios.Duration(300*time.Millisecond), scenarios.Needs{Grants: 5, Handovers: 1, Bites: 1}
	p.Scenario.Workload.NeverRelease = true
	p.Scenario.Faults = []scenarios.Fault{{Kind: "cut", Target: "holder", When: "acquiring", Request: "acquire",
		InTurn: true, Point: "before-request", After: scenarios.Duration(100 * time.Millisecond),
		Every: scenarios.Range{Min: 5e7, Max: 1e8}}}
	h := carried(t, redis.Setnx, p)
	unviolated(t, h)
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
	if grants < 5 || exits < 5 {
		t.Errorf("%d grants, and %d processes ended", grants, exits)
	}
}
