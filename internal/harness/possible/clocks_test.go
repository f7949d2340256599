package possible

import (
	"testing"

	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// What an adapter reads on a clock is not relied upon where a fault makes that
// clock wrong, alone or as a part of a combination.
func TestClocksOfClients(t *testing.T) {
	jump := scenarios.Fault{Kind: nemesis.KindClockJump, Clock: "mono", Target: "all-clients"}
	pause := scenarios.Fault{Kind: nemesis.KindPause, Target: "holder"}
	part := jump
	part.Target = ""
	for name, c := range map[string]struct {
		fault scenarios.Fault
		want  bool
	}{
		"alone":         {jump, true},
		"in a mix":      {scenarios.Fault{Mix: []scenarios.Fault{pause, jump}}, true},
		"at the whole":  {scenarios.Fault{Target: "holder", Together: []scenarios.Fault{pause, part}}, true},
		"of a node":     {scenarios.Fault{Kind: nemesis.KindClockJump, Clock: "wall", Target: "minority"}, false},
		"without clock": {scenarios.Fault{Mix: []scenarios.Fault{pause}}, false},
	} {
		if got := ClocksOfClients([]scenarios.Fault{pause, c.fault}); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
