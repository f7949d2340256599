package story_test

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/story"
)

// TestQuietLede: of runs that nothing disturbed it is said that nothing was
// violated only if that is so.
func TestQuietLede(t *testing.T) {
	busy := checker.PropertyResult{Name: checker.FalseBusy, Outcome: checker.Violated, Count: 1}
	met := []reports.Expectation{{Property: checker.FalseBusy, Want: "violated", Got: "violated", Met: true}}
	broken := reports.Scenario{Name: "a", Lock: "broken", Fault: "none", Undisturbed: true, Met: true, Expect: met,
		Verdict: checker.Verdict{Outcome: checker.Violated, Properties: []checker.PropertyResult{busy}}}
	whole := reports.Scenario{Name: "b", Lock: "whole", Fault: "none", Undisturbed: true, Met: true,
		Verdict: checker.Verdict{Outcome: checker.Pass}}
	for want, suite := range map[string][]reports.Scenario{
		"only the expected properties were violated": {broken, whole},
		"Nothing was violated":                       {whole},
	} {
		if got := story.SuiteLede(reports.Suite{Scenarios: suite}); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
