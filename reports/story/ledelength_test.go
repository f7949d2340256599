package story_test

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
	"github.com/lockchaos/lockchaos/reports/story"
)

// TestLedeIsShort checks that no lede is longer than a reader takes in at a
// glance, whatever there is to tell, and that what it leaves out is below.
func TestLedeIsShort(t *testing.T) {
	const long = "First of all this. Then that. Then a third. And a fourth. And so on."
	cases := map[string]reports.Scenario{}
	for name, make := range map[string]func() reports.Scenario{"pass": reporttest.PassCase,
		"corrupted": reporttest.CorruptedCase, "contained": reporttest.ContainedCase,
		"inconclusive": reporttest.InconclusiveCase, "failed": reporttest.FailedCase,
		"skipped": reporttest.SkippedCase, "surprise": reporttest.SurpriseCase, "clocks": reporttest.ClockCase,
		"hostile": reporttest.HostileCase} {
		cases[name] = make()
		why := make()
		why.Why = long
		cases[name+" with a long why"] = why
		reasons := make()
		if len(reasons.Verdict.Reasons) > 0 {
			reasons.Verdict.Reasons[0] = long
		}
		about := reasons
		about.About, about.Why = long, ""
		cases[name+" with long texts"] = about
		failed := make()
		failed.Failed = "no disk"
		cases[name+", failed"] = failed
	}
	defects := reporttest.SurpriseCase()
	for _, name := range []string{checker.StolenRelease, checker.Continuity, checker.DeadGrant} {
		for i := range defects.Verdict.Properties {
			if p := &defects.Verdict.Properties[i]; p.Name == name {
				p.Outcome, p.Count = checker.Violated, 2
			}
		}
		if defects.Property(name) == nil {
			defects.Verdict.Properties = append(defects.Verdict.Properties,
				checker.PropertyResult{Name: name, Outcome: checker.Violated, Count: 2})
		}
	}
	cases["defects"] = defects
	for name, s := range cases {
		page := reportOf(t, s)
		_, rest, _ := strings.Cut(page, `<p class="lede">`)
		text, _, _ := strings.Cut(rest, "</p>")
		if n := story.SentencesOf(text); n > 4 {
			t.Errorf("%s: %d sentences: %s", name, n, text)
		}
		if s.Why == long && s.Met && s.Judged() && !strings.Contains(page, long) {
			t.Errorf("%s: why it was expected is cut, and nowhere whole", name)
		}
		if s.Unexpected() && !strings.Contains(text, "This was not expected.") {
			t.Errorf("%s: the lede does not say that this was not expected: %s", name, text)
		}
	}
	_, rest, _ := strings.Cut(reportOf(t, defects), `<h1`)
	if text, _, _ := strings.Cut(rest, "</h1>"); strings.Count(text, "(at least once)") != 3 || strings.Count(text, "defects: ") != 1 {
		t.Errorf("the headline does not tell the defects in one sentence: %s", text)
	}
}
