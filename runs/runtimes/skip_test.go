package runtimes

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// What needs nodes that lockchaos started itself is skipped where somebody else did, and says so; nothing else is.
func TestWhatContainersCannotBear(t *testing.T) {
	for _, k := range nemesis.Kinds() {
		plan := scenarios.Plan{Scenario: scenarios.Scenario{Faults: []scenarios.Fault{{Kind: k.Name}}}}
		why := new(Containers).Skip(plan)
		if local := strings.HasPrefix(string(k.Needs), string(nemesis.NeedsLocal)); local != (why != "") {
			t.Errorf("%s needs %s, and is skipped because of %q", k.Name, k.Needs, why)
		}
		if why != "" && (!strings.Contains(why, k.Name) || !strings.Contains(why, "--runtime local")) {
			t.Errorf("%s: %q does not say what to do", k.Name, why)
		}
	}
}
