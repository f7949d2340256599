package runs

import (
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// strikeOf is what the scenario's only fault does.
func strikeOf(s scenarios.Scenario) reports.Strike {
	if len(s.Faults) != 1 || len(s.Faults[0].Parts()) > 0 || s.Attack != "" || s.Drawn() {
		return reports.OtherStrike
	}
	f, target := s.Faults[0], nemesis.Target(s.Faults[0].Target)
	switch {
	case f.Kind == nemesis.KindKill && target == nemesis.Holder:
		return reports.KillsHolder
	case f.Kind != nemesis.KindPause:
		return reports.OtherStrike
	case target == nemesis.Holder && s.Workload.Guard == "check":
		return reports.FreezesAfterCheck
	case target == nemesis.Holder:
		return reports.FreezesHolder
	case !target.Client():
		return reports.FreezesNodes
	}
	return reports.OtherStrike
}
