package harness

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Incapable says why this machine can't do a plan's faults, and what to do; "": it can. The same is said of every plan with the same need. Able is
// asked for what nemesis.Able returns when a fault first needs something.
func Incapable(p scenarios.Plan, able func() func(nemesis.Need) string) string {
	for _, k := range nemesis.Kinds() {
		needs := slices.ContainsFunc(p.Scenario.Faults, func(f scenarios.Fault) bool {
			return slices.ContainsFunc(f.Singles(), func(one scenarios.Fault) bool { return one.Kind == k.Name })
		})
		if !needs || k.Needs == nemesis.NeedsNothing || k.Needs == nemesis.NeedsLocal {
			continue
		}
		if why := able()(k.Needs); why != "" {
			return fmt.Sprintf("%s: %s", k.Needs, why)
		}
	}
	return ""
}
