package runs

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// unsentOf is how many waits must have been given up for each request that an attack on giving up
// has to meet, before a lock is said to send none.
const unsentOf = 20

// unsent says why an attack on what a lock sends when it gives up a wait makes no sense against the
// lock, as its run has shown: many waits were given up, and hardly a request was seen. It is empty
// where the attack makes sense, or its run shows something.
func unsent(s scenarios.Scenario, sc reports.Scenario) string {
	stats := sc.Verdict.Stats
	if sc.Fate() != reports.NothingFollows || len(s.Faults) == 0 || stats.Bites >= s.Needs.Bites ||
		stats.Grants < int64(s.Needs.Grants) || stats.Busy < int64(unsentOf*s.Needs.Bites) {
		return ""
	}
	for _, f := range s.Faults {
		if slices.ContainsFunc(f.Singles(), onAnotherRequest) {
			return ""
		}
	}
	return fmt.Sprintf("it sends hardly anything when it gives up a wait (%d requests met in %d waits)", stats.Bites, stats.Busy)
}

func onAnotherRequest(f scenarios.Fault) bool {
	return nemesis.Request(f.Request) != nemesis.RequestGiveUp
}
