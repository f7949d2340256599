//go:build linux

package locktest

import (
	"slices"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/scenarios"
)

// TestInOrder checks that what nobody expected is told first, and of that the defects.
func TestInOrder(t *testing.T) {
	double := func(kind string) checker.PropertyResult {
		return checker.PropertyResult{Name: checker.MutualExclusion, Outcome: checker.Violated, Count: 1, Kinds: map[string]int{kind: 1}}
	}
	violated := func(name string) checker.PropertyResult {
		return checker.PropertyResult{Name: name, Outcome: checker.Violated, Count: 1}
	}
	pass := checker.PropertyResult{Name: checker.DeadGrant, Outcome: checker.Pass}
	for _, c := range []struct {
		name string
		all  []checker.PropertyResult
		met  []bool
		want []int
	}{
		{"an overrun after a defect", []checker.PropertyResult{double(checker.KindLeaseOverrun),
			violated(checker.LostUpdate), violated(checker.Continuity), pass},
			[]bool{false, false, false, true}, []int{2, 0, 1, 3}},
		{"a defect stays first", []checker.PropertyResult{double(checker.KindGrantedWhileValid),
			violated(checker.Continuity)}, []bool{false, false}, []int{0, 1}},
		{"what is expected comes last", []checker.PropertyResult{violated(checker.Continuity),
			double(checker.KindLeaseOverrun)}, []bool{true, false}, []int{1, 0}},
	} {
		var compared []scenarios.Compared
		for _, met := range c.met {
			compared = append(compared, scenarios.Compared{Met: met})
		}
		if got := inOrder(c.all, compared); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
