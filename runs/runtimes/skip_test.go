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

// What the machine can't do is skipped before it starts, with the same words for each scenario that needs it.
func TestWhatTheMachineCannotDo(t *testing.T) {
	const why = "open it: permission denied; to do: mend it"
	for _, k := range nemesis.Kinds() {
		plan := scenarios.Plan{Scenario: scenarios.Scenario{Faults: []scenarios.Fault{{Kind: nemesis.KindPause}, {Kind: k.Name}}}}
		for answer, skipped := range map[string]bool{"": false, why: true} {
			where := PrivateNetwork{func() func(nemesis.Need) string { return func(nemesis.Need) string { return answer } }}
			want := ""
			if skipped && k.Needs != nemesis.NeedsNothing && k.Needs != nemesis.NeedsLocal {
				want = string(k.Needs) + ": " + why
			}
			if got := where.Skip(plan); got != want {
				t.Errorf("%s, of which the probe says %q, is skipped because of %q, want %q", k.Name, answer, got, want)
			}
		}
	}
}
