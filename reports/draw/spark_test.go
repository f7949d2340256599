package draw

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

func TestSpark(t *testing.T) {
	s := reports.Scenario{Length: 3200 * reporttest.Ms,
		Verdict: checker.Verdict{Outcome: checker.Violated, Properties: []checker.PropertyResult{
			{Name: checker.MutualExclusion, Outcome: checker.Violated, Count: 3,
				Violations: []checker.Violation{{At: 0}, {At: 50 * reporttest.Ms}, {At: 3200 * reporttest.Ms}}},
			{Name: checker.LostUpdate, Outcome: checker.Pass}}}}
	text := string(Spark(s))
	if !strings.Contains(text, "3 violations over the 3.2 s of the run, first at 0.000 s") {
		t.Errorf("%s", text)
	}
	// Two in the first part at full height, one at the last instant in the last part.
	if !strings.Contains(text, `d="M0 0h2v12h-2zM93 3.5h2v8.5h-2z"`) {
		t.Errorf("%s", text)
	}
	s.Verdict.Properties[0].Count = 5000
	if text := string(Spark(s)); !strings.Contains(text, "the first 3 of 5,000 violations") {
		t.Errorf("%s", text)
	}
	for name, s := range map[string]reports.Scenario{"a pass": reporttest.PassCase(),
		"one that was skipped": reporttest.SkippedCase(), "one without a length": {Verdict: s.Verdict}} {
		if Spark(s) != "" {
			t.Errorf("%s has a sparkline", name)
		}
	}
}
