package possible

import (
	"slices"

	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// ClocksOfClients reports whether a planned fault makes the clocks of clients
// wrong. What an adapter reads there is then no evidence.
func ClocksOfClients(faults []scenarios.Fault) bool {
	return slices.ContainsFunc(faults, func(f scenarios.Fault) bool {
		return slices.ContainsFunc(f.Singles(), clockOfClient)
	})
}

// clockOfClient reports whether a single fault makes clocks of clients wrong.
func clockOfClient(f scenarios.Fault) bool {
	return f.Clock != "" && nemesis.Target(f.Target).Client()
}
