package reports

import (
	"testing"

	"github.com/lockchaos/lockchaos/checker"
)

// TestMainViolationPrefersWhatIsExplained: of violations that weigh the same, the
// first whose pattern says what brought it about is told.
func TestMainViolationPrefersWhatIsExplained(t *testing.T) {
	told := func(patterns ...string) int64 {
		p := checker.PropertyResult{Name: checker.MutualExclusion, Outcome: checker.Violated}
		for i, pattern := range patterns {
			p.Violations = append(p.Violations, checker.Violation{Property: p.Name, Kind: checker.KindGrantedWhileValid,
				Pattern: pattern, At: int64(i)})
		}
		return MainViolation(Scenario{Verdict: checker.Verdict{Properties: []checker.PropertyResult{p}}}, nil).At
	}
	for _, x := range []struct {
		patterns []string
		want     int64
	}{
		{[]string{checker.PatternStolen, checker.PatternStolen}, 0},
		{[]string{checker.PatternService, checker.PatternStolen, checker.PatternPaused}, 1},
		{[]string{checker.PatternUnexplained, checker.PatternSeveral}, 0},
	} {
		if got := told(x.patterns...); got != x.want {
			t.Errorf("of %q, number %d is told, want %d", x.patterns, got, x.want)
		}
	}
}
