package runs

import (
	"testing"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// What the machine can't do is skipped before it starts, with the same words for each scenario that needs it.
func TestWhatTheMachineCannotDo(t *testing.T) {
	const why = "open it: permission denied; to do: mend it"
	for _, k := range nemesis.Kinds() {
		plan := scenarios.Plan{Scenario: scenarios.Scenario{Faults: []scenarios.Fault{{Kind: nemesis.KindPause}, {Kind: k.Name}}}}
		for answer, skipped := range map[string]bool{"": false, why: true} {
			where := PrivateNetwork{Locks: func(*scenarios.Scenario) (clients.Kind, error) { return clients.Kind{}, nil }, Able: func() func(nemesis.Need) string { return func(nemesis.Need) string { return answer } }}
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
