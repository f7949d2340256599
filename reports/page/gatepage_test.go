package page

import (
	"html"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

func gatePageOf(t *testing.T, g reports.Gate, s reports.Suite, repetitions int) string {
	t.Helper()
	table := reports.Repetition{Suite: s.Name, Wanted: repetitions}
	table.Add(7, ".", s.Scenarios)
	return reporttest.Text(t, func(w io.Writer) error { return WriteGateIndex(w, g, s, table) })
}

// visible is the text of a page as a reader sees it.
func visible(page string) string {
	page = regexp.MustCompile(`(?s)<(style|script)>.*?</`).ReplaceAllString(page, "")
	return strings.Join(strings.Fields(html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " "))), " ")
}

// A gate's page says the ruling, why, each rule with what decides it, what is
// known and for how long, and what is left open, of one repetition as of many.
func TestGatePage(t *testing.T) {
	s := reporttest.Gated()
	g := reporttest.GatedRuling()
	for _, repetitions := range []int{1, 2} {
		text := gatePageOf(t, g, s, repetitions)
		for _, want := range []string{
			`<h1><span class="hide">lockchaos.yaml: </span>FAILED</h1>`,
			"lost-update must hold and is violated in redis-setnx/pause-holder/unfenced (2 of 2 runs). It was known until 2026-10-01: the nightly job.",
			"lost-update must hold not met broken in 2 of 4 runs redis-setnx/pause-holder/unfenced: seed 7 , seed 8",
			"deadlock must hold open left open in 1 run",
			"mutual-exclusion must hold open left open in 2 runs",
			"seen in 2 of 2 runs 2026-11-30 11 days left a lease can be outlived",
			"2026-10-01 over the nightly job",
			"not seen in 3 runs: take it off the list, if its cause is gone 2027-03-31 132 days left LOCK-17",
			"skipped: fail – a scenario that this machine can't run fails the gate.",
			"inconclusive: warn – a run that shows too little, was cut, or did not fit into the time is warned of, and does not fail the gate.",
			"Time: 47 s of the 60 s that the policy allows.",
		} {
			if !strings.Contains(text, want) && !strings.Contains(visible(text), want) {
				t.Errorf("%d repetitions: the page does not say %q", repetitions, want)
			}
		}
		if ruling, matrix := strings.Index(text, "FAILED</h1>"), strings.Index(text, `id="showed"`); ruling < 0 || matrix < ruling {
			t.Errorf("%d repetitions: the ruling stands behind what the runs showed", repetitions)
		}
		if n := strings.Count(text, "<h1"); n != 1 {
			t.Errorf("%d repetitions: %d headings of the first level", repetitions, n)
		}
	}
}

// A property that only one of several runs judges is met by that run; one that
// none judges is never said to be met.
func TestGateRules(t *testing.T) {
	a, b := reporttest.PassCase(), reporttest.PassCase()
	a.Expect = []reports.Expectation{{Property: checker.FIFO, Want: "pass", Got: "not judged", Met: true},
		{Property: checker.TokenOrder, Want: "pass", Got: "not judged", Met: true}}
	b.Name, b.Dir = "b", "b"
	b.Expect = []reports.Expectation{{Property: checker.FIFO, Want: "pass", Got: "pass", Met: true},
		{Property: checker.TokenOrder, Want: "pass", Got: "not judged", Met: true}}
	rules, notJudged := rulesOf(reports.Gate{}, reporttest.Suite(a, b))
	if len(rules) != 1 || rules[0].State != ruleMet || rules[0].Says != "in 1 run" || len(rules[0].By) != 1 || rules[0].By[0].Name != "b" {
		t.Errorf("%d rules, the first %s %q by %v", len(rules), rules[0].State, rules[0].Says, rules[0].By)
	}
	if len(notJudged) != 1 || notJudged[0] != checker.TokenOrder {
		t.Errorf("not judged: %v", notJudged)
	}
	skipped := reporttest.SkippedCase()
	rules, _ = rulesOf(reports.Gate{Demands: []reports.Demand{{Scenario: skipped.Name, Word: "all"}}}, reporttest.Suite(a, b, skipped))
	if len(rules) != 1 || rules[0].State != ruleOpen || rules[0].Property != checker.FIFO || len(rules[0].Others) != 1 {
		t.Errorf("a run that is missing leaves both rules open, in one row, not as %s %s %v", rules[0].State,
			rules[0].Property, rules[0].Others)
	}
}

// All that a policy says may be hostile: a reason is text, wherever it stands.
func TestGatePageHostile(t *testing.T) {
	s := reporttest.Suite(reporttest.HostileCase())
	s.Name = reporttest.Hostile
	s.Scenarios[0].Expect = []reports.Expectation{{Property: reporttest.Hostile, Want: reporttest.Hostile,
		Got: "violated", Note: reporttest.Hostile},
		{Property: "x", Want: "known violation", Got: "violated", Met: true, Known: reporttest.Hostile}}
	g := reports.Gate{Policy: reporttest.Hostile, Exit: 1, Inconclusive: reporttest.Hostile,
		Skipped: reporttest.Hostile, Broken: reporttest.Hostile,
		Demands: []reports.Demand{{Scenario: reporttest.Hostile, Names: []string{reporttest.Hostile}}},
		Known: []reports.KnownViolation{{Scenario: reporttest.Hostile, Property: reporttest.Hostile,
			Kind: reporttest.Hostile, Reason: reporttest.Hostile, LastDay: "2027-01-01"}}}
	for _, repetitions := range []int{1, 2} {
		text := gatePageOf(t, g, s, repetitions)
		checkMarkup(t, "gate", text)
		if i := strings.IndexFunc(text, reporttest.Hidden); i >= 0 {
			t.Errorf("a hidden character %q at %d", text[i], i)
		}
	}
	if ruling := g.Ruling(s); strings.ContainsAny(ruling, "\n\r\x1b") {
		t.Errorf("a ruling of several lines, or with an escape: %q", ruling)
	}
}
