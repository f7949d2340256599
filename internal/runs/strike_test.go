package runs

import (
	"testing"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// TestStrikeOf: only a plan of one simple fault has a strike, and a client is no node.
func TestStrikeOf(t *testing.T) {
	pause := func(target string) scenarios.Fault { return scenarios.Fault{Kind: "pause", Target: target} }
	check := scenarios.Workload{Guard: "check"}
	for _, c := range []struct {
		s    scenarios.Scenario
		want reports.Strike
	}{
		{scenarios.Scenario{}, reports.OtherStrike},
		{scenarios.Scenario{Faults: []scenarios.Fault{pause("holder")}}, reports.FreezesHolder},
		{scenarios.Scenario{Faults: []scenarios.Fault{pause("holder")}, Workload: check}, reports.FreezesAfterCheck},
		{scenarios.Scenario{Faults: []scenarios.Fault{pause("holder")}, Attack: "stop-work"}, reports.OtherStrike},
		{scenarios.Scenario{Faults: []scenarios.Fault{pause("holder")}, Name: scenarios.RandomPrefix + "redlock"}, reports.OtherStrike},
		{scenarios.Scenario{Faults: []scenarios.Fault{pause("holder"), pause("redis-1")}}, reports.OtherStrike},
		{scenarios.Scenario{Faults: []scenarios.Fault{{Sequence: []scenarios.Fault{pause("redis-1"),
			pause("holder")}}}}, reports.OtherStrike},
		{scenarios.Scenario{Faults: []scenarios.Fault{pause("redis-1")}}, reports.FreezesNodes},
		{scenarios.Scenario{Faults: []scenarios.Fault{pause("nodes:3")}}, reports.FreezesNodes},
		{scenarios.Scenario{Faults: []scenarios.Fault{pause("client-2")}}, reports.OtherStrike},
		{scenarios.Scenario{Faults: []scenarios.Fault{pause("next-waiter")}}, reports.OtherStrike},
		{scenarios.Scenario{Faults: []scenarios.Fault{{Kind: "kill", Target: "holder"}}}, reports.KillsHolder},
		{scenarios.Scenario{Faults: []scenarios.Fault{{Kind: "kill", Target: "redis-1"}}}, reports.OtherStrike},
	} {
		if got := strikeOf(c.s); got != c.want {
			t.Errorf("%+v: %v, want %v", c.s.Faults, got, c.want)
		}
	}
}
