package story_test

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
	"github.com/lockchaos/lockchaos/reports/story"
	"golang.org/x/net/html"
)

// todoOf returns the page's part on what to do, as a reader sees it, and the links in it.
func todoOf(t *testing.T, page string) (text string, links []string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.Data != "div" || !strings.Contains(classOf(n), "todo") {
			continue
		}
		for x := range n.Descendants() {
			if x.Type == html.TextNode {
				text += x.Data
			}
			for _, a := range x.Attr {
				if a.Key == "href" {
					links = append(links, a.Val)
				}
			}
		}
	}
	return text, links
}

func classOf(n *html.Node) string {
	for _, a := range n.Attr {
		if a.Key == "class" {
			return a.Val
		}
	}
	return ""
}

// ofOnePattern is a run in which all that was violated is of one pattern, and of one kind.
func ofOnePattern(pattern, kind string) reports.Scenario {
	s := reporttest.CorruptedCase()
	g := &s.Verdict.Patterns[0]
	g.Pattern, g.Says = pattern, checker.PatternSays(pattern)
	for i := range s.Verdict.Properties {
		for j := range s.Verdict.Properties[i].Violations {
			v := &s.Verdict.Properties[i].Violations[j]
			v.Pattern, v.Kind = pattern, kind
		}
	}
	return s
}

// TestEveryPatternHasARemedy checks that the page of each pattern says what to
// do about this one, whole and without a network.
func TestEveryPatternHasARemedy(t *testing.T) {
	for _, p := range checker.Patterns() {
		r := story.PatternRemedies[p.Name]
		text, links := todoOf(t, reportOf(t, ofOnePattern(p.Name, checker.KindLeaseOverrun)))
		if r.Lead == "" || !strings.HasPrefix(strings.TrimSpace(text), "Why this was expected.") ||
			!strings.Contains(text, r.Lead) || !strings.Contains(text, r.Text.String()) {
			t.Errorf("%s: nothing says what to do about it", p.Name)
		}
		for other, x := range story.PatternRemedies {
			if other != p.Name && strings.Contains(text, x.Text.String()) {
				t.Errorf("%s: it has the remedy for %s", p.Name, other)
			}
		}
		more := story.RemedySections()[r.Place]
		if more == nil {
			t.Errorf("%s: its remedy is not in remedies.md", p.Name)
			continue
		}
		for _, paragraph := range more.Body {
			if !strings.Contains(text, paragraph.String()) {
				t.Errorf("%s: the page lacks %q of remedies.md", p.Name, paragraph.String())
			}
		}
		for _, link := range links {
			if !strings.HasPrefix(link, story.OnTheWeb) {
				t.Errorf("%s: the page leads to %s, which is not there for those who have only the page", p.Name, link)
			}
		}
	}
	if len(story.PatternRemedies) != len(checker.Patterns()) {
		t.Errorf("%d remedies for %d patterns", len(story.PatternRemedies), len(checker.Patterns()))
	}
}

// TestEveryKindHasARemedy checks the kinds of violations, those without a pattern too.
func TestEveryKindHasARemedy(t *testing.T) {
	for _, kind := range []string{checker.KindGrantedWhileValid, checker.KindLateNotice, checker.KindLeaseOverrun,
		checker.KindUnexplained, checker.KindStale, checker.KindInFlight,
		checker.KindGhost, checker.KindAsleep, checker.KindWedged, checker.KindNeverExpired} {
		s := ofOnePattern("", kind)
		s.Verdict.Patterns = nil
		text, _ := todoOf(t, reportOf(t, s))
		if !strings.Contains(text, "Use a lock that issues a fencing token") {
			t.Errorf("%s: nothing says what the store needs", kind)
		}
		if r, own := story.KindRemedies[kind]; own && !strings.Contains(text, r.Text.String()) {
			t.Errorf("%s: nothing says what to do about it", kind)
		}
	}
}

// lacking is an inconclusive run, with what it lacked.
func lacking(change func(v *checker.Verdict, n *history.Needs)) reports.Scenario {
	s := reporttest.PassCase()
	s.Verdict.Outcome, s.Met = checker.Inconclusive, false
	for i := range s.Expect {
		s.Expect[i].Want, s.Expect[i].Got, s.Expect[i].Met = "pass or not judged", "inconclusive", false
		s.Verdict.Properties[i].Outcome = checker.Inconclusive
		s.Verdict.Properties[i].Why = "Nothing was found, but the run does not prove that there is nothing: see the reasons."
	}
	s.Verdict.Reasons = []string{"A reason that is told once."}
	change(&s.Verdict, &s.History.Header.Needs)
	return s
}

// TestEveryVerdictSaysWhatToDo checks each verdict, and each reason for which a
// run can be inconclusive.
func TestEveryVerdictSaysWhatToDo(t *testing.T) {
	adapterFails := reporttest.FailedCase()
	adapterFails.Failed = `client 1 on host client-1: open adapter: the adapter "x" ended (exit status 3) before it had answered hello`
	violated := reporttest.CorruptedCase()
	violated.Verdict.Severity = checker.Untested
	for i := range violated.Verdict.Properties {
		if p := &violated.Verdict.Properties[i]; p.Name != checker.MutualExclusion && p.Outcome == checker.Violated {
			p.Outcome, p.Count, p.Violations = checker.Pass, 0, nil
		}
	}
	limited := reporttest.CorruptedCase()
	limited.History.Header.Needs.Bites = 1 + limited.Verdict.Stats.Bites
	demanded := reporttest.SkippedCase()
	demanded.Demanded = true
	log := lacking(func(*checker.Verdict, *history.Needs) {})
	log.History.Header.Translated = true
	for _, c := range []struct {
		name string
		s    reports.Scenario
		want string
	}{
		{"a log", log, "Read the lines that the reason names."},
		{"failed", reporttest.FailedCase(), "Next: lockchaos doctor"},
		{"failed with nothing next", func() reports.Scenario { s := reporttest.FailedCase(); s.Failed = "no disk"; return s }(), "Repair what failed"},
		{"an adapter failed", adapterFails, "Try the adapter alone."},
		{"skipped", reporttest.SkippedCase(), "Get what is missing"},
		{"skipped though demanded", demanded, "stays open until it has run"},
		{"cut", lacking(func(v *checker.Verdict, _ *history.Needs) { v.Truncated = true }), "Let the run come to its end."},
		{"a fault without effect", lacking(func(v *checker.Verdict, _ *history.Needs) {
			v.Stats.Faults = []checker.FaultStats{{Kind: "pause", Injected: true, Begun: 2, Bit: 1}}
		}), "Find out why the fault had no effect."},
		{"too few grants", lacking(func(v *checker.Verdict, n *history.Needs) { n.Grants = int(2 * v.Stats.Grants) }),
			"At this pace about --duration 10s is enough; this run had 3 s."},
		{"too few hand-overs", lacking(func(v *checker.Verdict,
			n *history.Needs) {
			n.Handovers = 1 + int(v.Stats.Handovers)
		}), "Let it run longer."},
		{"too few struck holders", lacking(func(v *checker.Verdict, n *history.Needs) { n.Bites = 2 }), "Let it run longer."},
		{"senseless events", lacking(func(*checker.Verdict, *history.Needs) {}), "check the adapter"},
		{"contained", reporttest.ContainedCase(), "Handle refusals."},
		{"corrupted", reporttest.CorruptedCase(), "Let the store refuse what comes after a pause."},
		{"corrupted, with too few faults", limited, "Let it run longer."},
		{"violated", violated, "Do not count on luck."},
		{"pass", reporttest.PassCase(), "What this pass shows."},
	} {
		page := reportOf(t, c.s)
		if c.name == "a log" && !strings.Contains(page, "This log proves nothing either way</h1>") {
			t.Error("the headline of a log tells of a run")
		}
		if text, _ := todoOf(t, page); !strings.Contains(text, c.want) {
			t.Errorf("%s: the page does not say %q but %q", c.name, c.want, text)
		}
		first := strings.Index(page, `id="todo"`)
		for _, later := range []string{`id="timeline"`, "<h2>Properties</h2>", "<h2>Violations</h2>",
			"<h2>What else was reported</h2>", "<h2>Again</h2>"} {
			if i := strings.Index(page, later); i >= 0 && i < first {
				t.Errorf("%s: %s stands above what to do", c.name, later)
			}
		}
	}
}

// TestOneReasonOnce checks that what left all open is told in one sentence, and
// not beside each property that it left open.
func TestOneReasonOnce(t *testing.T) {
	s := lacking(func(*checker.Verdict, *history.Needs) {})
	for name, page := range map[string]string{"report": reportOf(t, s), "index": indexOf(t, reporttest.Suite(s))} {
		if strings.Contains(page, "Not as expected") || strings.Contains(page, "should be") {
			t.Errorf("the %s lists what was left open as if each were a finding", name)
		}
		if n := strings.Count(page, "does not prove that there is nothing"); n > 1 {
			t.Errorf("the %s says %d times that the run proves nothing", name, n)
		}
	}
	if n := strings.Count(reportOf(t, s), s.Verdict.Reasons[0]); n != 1 {
		t.Errorf("the reason stands on the page %d times", n)
	}
	if line := story.Summary(s); strings.Count(line, "A reason that is told once.") != 1 || !strings.HasSuffix(line, ", UNEXPECTED") {
		t.Errorf("the line on a terminal is %q", line)
	}
	s.Verdict.Reasons = append(s.Verdict.Reasons, "A second reason.")
	if page := reportOf(t, s); strings.Count(page, s.Verdict.Reasons[0]) != 1 || strings.Count(page, "A second reason.") != 1 {
		t.Error("one of two reasons is not told once")
	}
	// A control that was not caught is told, whatever else was left open.
	s.Expect[0].Want = "violated"
	if page := reportOf(t, s); !strings.Contains(page,
		"<li><b>mutual-exclusion</b> should <b>be violated</b> and is <b>inconclusive</b></li></ul>") {
		t.Error("the page does not say what should have been violated")
	}
	// Two properties that were missed alike share a line, and one that was
	// found otherwise keeps its own.
	odd := reporttest.CorruptedCase()
	odd.Met = false
	odd.Expect = []reports.Expectation{{Property: "a", Want: "pass", Got: "inconclusive"},
		{Property: "b", Want: "pass", Got: "violated"}, {Property: "c", Want: "pass", Got: "inconclusive"}}
	if page := reportOf(t, odd); !strings.Contains(page,
		"<li><b>a and c</b> should <b>pass</b> and are <b>inconclusive</b></li><li><b>b</b> should <b>pass</b> and is <b>violated</b></li>") {
		t.Error("what was missed alike does not share a line")
	}
}
