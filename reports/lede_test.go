package reports

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

func TestSentences(t *testing.T) {
	for text, want := range map[string]int{"": 0, "One": 1, "One. Two.": 2, "It took 1.5 s. Then? Yes!": 3, "See a.b.c, e.g. this one.": 1, `He said "no." Then (at last.) He went.`: 3, "A. B. C. D. E": 5} {
		if n := (prose{}.t(text)).sentences(); n != want {
			t.Errorf("%q has %d sentences, want %d", text, n, want)
		}
	}
	p := prose{}.t("One ").b("two. Three").t(" four. ").b("Five.")
	for n, want := range map[int]string{1: "One <b>two.</b>", 2: "One <b>two. Three</b> four.", 3: "One <b>two. Three</b> four. <b>Five.</b>", 9: "One <b>two. Three</b> four. <b>Five.</b>"} {
		if got := string(p.atMost(n).HTML()); got != want {
			t.Errorf("the first %d: %q, want %q", n, got, want)
		}
	}
}

// TestFrozenWhileItWaited: a client whose fault was over before its grant did not hold the key meanwhile.
func TestFrozenWhileItWaited(t *testing.T) {
	for to, want := range map[int64]string{99: "waited for", 100: "waited for", 101: "held"} {
		told := &story{a: &grant{op: &op{end: 100}}}
		if got := told.had(&fault{FaultInfo: history.FaultInfo{From: 10, To: to}}); got != want {
			t.Errorf("a fault until %d, a grant at 100: %q", to, got)
		}
	}
}

// TestLedeIsShort checks that no lede is longer than a reader takes in at a glance, whatever there is to tell, and that what it leaves out is below.
func TestLedeIsShort(t *testing.T) {
	const long = "First of all this. Then that. Then a third. And a fourth. And so on."
	cases := map[string]Scenario{}
	for name, make := range map[string]func() Scenario{"pass": passCase, "corrupted": corruptedCase, "contained": containedCase, "inconclusive": inconclusiveCase, "failed": failedCase,
		"skipped": skippedCase, "surprise": surpriseCase, "clocks": clockCase, "hostile": hostileCase} {
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
	defects := surpriseCase()
	for _, name := range []string{checker.StolenRelease, checker.Continuity, checker.DeadGrant} {
		for i := range defects.Verdict.Properties {
			if p := &defects.Verdict.Properties[i]; p.Name == name {
				p.Outcome, p.Count = checker.Violated, 2
			}
		}
		if defects.property(name) == nil {
			defects.Verdict.Properties = append(defects.Verdict.Properties, checker.PropertyResult{Name: name, Outcome: checker.Violated, Count: 2})
		}
	}
	cases["defects"] = defects
	for name, s := range cases {
		page := reportOf(t, s)
		_, rest, _ := strings.Cut(page, `<p class="lede">`)
		text, _, _ := strings.Cut(rest, "</p>")
		if n := sentencesOf(text); n > 4 {
			t.Errorf("%s: %d sentences: %s", name, n, text)
		}
		if s.Why == long && s.Met && s.judged() && !strings.Contains(page, long) {
			t.Errorf("%s: why it was expected is cut, and nowhere whole", name)
		}
		if s.unexpected() && !strings.Contains(text, "This was not expected.") {
			t.Errorf("%s: the lede does not say that this was not expected: %s", name, text)
		}
	}
	_, rest, _ := strings.Cut(reportOf(t, defects), `<h1`)
	if text, _, _ := strings.Cut(rest, "</h1>"); strings.Count(text, "(at least once)") != 3 || strings.Count(text, "defects: ") != 1 {
		t.Errorf("the headline does not tell the defects in one sentence: %s", text)
	}
}

// sentencesOf counts the sentences of a text.
func sentencesOf(text string) int { return prose{}.t(text).sentences() }
