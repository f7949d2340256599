package reports_test

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

func TestRuling(t *testing.T) {
	pass, open, broken, failed := reporttest.PassCase(), reporttest.InconclusiveCase(), reporttest.CorruptedCase(), reporttest.FailedCase()
	open.Expect = []reports.Expectation{{Property: checker.MutualExclusion, Want: "pass", Got: "inconclusive"}}
	pass.Expect = []reports.Expectation{{Property: checker.MutualExclusion, Want: "pass", Got: "pass", Met: true}}
	broken.Expect = []reports.Expectation{{Property: checker.LostUpdate, Want: "pass", Got: "violated"}}
	for _, c := range []struct {
		name string
		g    reports.Gate
		s    reports.Suite
		want string
	}{
		{"passed", reports.Gate{}, reporttest.Suite(pass), "PASSED: Every rule is met in 1 run of 1 scenario."},
		{"passed and known", reports.Gate{Known: []reports.KnownViolation{{Shown: 1}}}, reporttest.Suite(pass),
			"PASSED: Every rule is met in 1 run of 1 scenario. 1 known violation showed and is tolerated."},
		{"passed, lenient", reports.Gate{}, reporttest.Suite(pass, open),
			"PASSED: Every rule is met in 1 run of 2 scenarios. 1 run is left open, and the policy only warns of that."},
		{"violated", reports.Gate{Exit: 1}, reporttest.Suite(pass, broken),
			"FAILED: lost-update must hold and is violated in redis-setnx/pause-holder/unfenced."},
		{"open", reports.Gate{Exit: 2}, reporttest.Suite(pass, open),
			"FAILED: No rule that must hold was broken, but 1 of 2 runs leaves something open."},
		{"nothing ran", reports.Gate{Exit: 2}, reporttest.Suite(reporttest.SkippedCase()),
			"FAILED: No run reached a verdict, so nothing is shown."},
		{"failed", reports.Gate{Exit: 3}, reporttest.Suite(pass, failed), "FAILED: The run of " + failed.Name + " failed: "},
		{"failed and violated", reports.Gate{Exit: 3}, reporttest.Suite(failed, broken), "Also: lost-update must hold and is violated"},
		{"interrupted", reports.Gate{Exit: 3, Broken: "it was interrupted"}, reporttest.Suite(pass), "FAILED: It was interrupted."},
	} {
		if got := c.g.Ruling(c.s); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
