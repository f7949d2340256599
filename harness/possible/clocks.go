package possible

import (
	"slices"

	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// ClocksOfClients tells whether a planned fault makes the clocks of clients wrong. What an adapter reads there is then no evidence.
func ClocksOfClients(faults []scenarios.Fault) bool {
	return slices.ContainsFunc(faults, func(f scenarios.Fault) bool {
		return slices.ContainsFunc(f.Singles(), func(one scenarios.Fault) bool {
			return one.Clock != "" && nemesis.Target(one.Target).Client()
		})
	})
}
