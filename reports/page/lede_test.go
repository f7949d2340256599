package page

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
	"github.com/lockchaos/lockchaos/reports/story"
)

// Where all that was missed is a pass that the run is too short for, its
// summary says that, once, and not that it was unexpected.
func TestTooLittle(t *testing.T) {
	s := reporttest.ContainedCase()
	s.Met, s.Verdict.Reasons = false, []string{"How often an injected fault met a holder: 1; a pass needs 2."}
	for i := range s.Expect {
		if s.Expect[i].Property != checker.MutualExclusion {
			s.Expect[i] = reports.Expectation{Property: s.Expect[i].Property, Want: "pass or not judged",
				Got: checker.Inconclusive.String()}
		} else {
			s.Expect[i].Met = true
		}
	}
	if len(s.Expect) < 2 {
		t.Fatal("the case expects nothing")
	}
	if got := story.Summary(s); strings.Contains(got, "UNEXPECTED") || strings.Count(got, s.Verdict.Reasons[0]) != 1 {
		t.Error(got)
	}
	page := reportOf(t, s)
	if strings.Contains(page, "This was not expected") || strings.Contains(page, "Not as expected") ||
		!strings.Contains(page, "The rest is inconclusive: ") {
		t.Error("the page does not say that the run shows too little")
	}
	suite := reports.Suite{Scenarios: []reports.Scenario{s}}
	if got := story.SuiteLede(suite); strings.Contains(got, "Not expected:") ||
		!strings.Contains(got, "too little of the rest for a pass.") {
		t.Error(got)
	}
	s.Expect[0].Property, s.Expect[0].Got, s.Expect[0].Met = checker.TokenOrder, checker.Violated.String(), false
	if got := story.Summary(s); !strings.Contains(got, "UNEXPECTED: "+checker.TokenOrder) {
		t.Error(got)
	}
	suite.Scenarios[0] = s
	if got := story.SuiteLede(suite); !strings.Contains(got, "Not expected:") || strings.Contains(got, "too little") {
		t.Error(got)
	}
}
