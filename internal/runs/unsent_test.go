package runs

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// TestUnsent: an attack on what a lock sends when it gives up makes no sense if that is nothing.
// Where few waits were given up, or the run shows something, its outcome stands.
func TestUnsent(t *testing.T) {
	on := func(request string) scenarios.Scenario {
		return scenarios.Scenario{Needs: scenarios.Needs{Grants: 6, Bites: 2},
			Faults: []scenarios.Fault{{Kind: "cut", Request: request}}}
	}
	open := func(stats checker.Stats) reports.Scenario {
		return reports.Scenario{Verdict: checker.Verdict{Stats: stats}}
	}
	nothing := checker.Stats{Grants: 43, Busy: 68, Bites: 1}
	fell := open(nothing)
	fell.Verdict.Outcome = checker.Violated
	fell.Verdict.Properties = []checker.PropertyResult{{Name: checker.StuckLock, Outcome: checker.Violated, Count: 1}}
	for name, c := range map[string]struct {
		s    scenarios.Scenario
		sc   reports.Scenario
		want bool
	}{
		"nothing was sent":           {on("give-up"), open(nothing), true},
		"another request":            {on("release"), open(nothing), false},
		"it was met often enough":    {on("give-up"), open(checker.Stats{Grants: 43, Busy: 68, Bites: 2}), false},
		"few gave up":                {on("give-up"), open(checker.Stats{Grants: 43, Busy: 39, Bites: 1}), false},
		"few were granted":           {on("give-up"), open(checker.Stats{Grants: 5, Busy: 68, Bites: 1}), false},
		"a defect":                   {on("give-up"), fell, false},
		"an attack without a fault":  {scenarios.Scenario{}, open(nothing), false},
		"the harness or a node died": {on("give-up"), reports.Scenario{Failed: "x", Verdict: checker.Verdict{Stats: nothing}}, false},
	} {
		if why := unsent(c.s, c.sc); (why != "") != c.want {
			t.Errorf("%s: %q", name, why)
		}
	}
	run := Record{Exam: &reports.Exam{Lock: "any"}}
	suite := run.Together([]Judged{{Scenario: reports.Scenario{Fault: "lost-giving-up", Skipped: "it sends nothing"}, senseless: true}})
	if len(suite.Scenarios) != 0 || len(suite.Exam.Not) != 1 || len(run.Exam.Not) != 0 ||
		!strings.Contains(suite.Exam.Inapplicable()[0], "since it sends nothing: lost-giving-up") {
		t.Errorf("%+v", suite)
	}
}
