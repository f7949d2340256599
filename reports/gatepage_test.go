package reports

import (
	"html"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
)

func gatePageOf(t *testing.T, g Gate, s Suite, repetitions int) string {
	t.Helper()
	table := Repetition{Suite: s.Name, Wanted: repetitions}
	table.Add(7, ".", s.Scenarios)
	return page(t, func(w io.Writer) error { return WriteGateIndex(w, g, s, table) })
}

// visible is the text of a page as a reader sees it.
func visible(page string) string {
	page = regexp.MustCompile(`(?s)<(style|script)>.*?</`).ReplaceAllString(page, "")
	return strings.Join(strings.Fields(html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " "))), " ")
}

// gatedRuling is a policy's last word on gated.
func gatedRuling() Gate {
	return Gate{Policy: "lockchaos.yaml", Exit: 1, Inconclusive: "warn", Skipped: "fail", Budget: time.Minute, Elapsed: 47 * time.Second,
		Demands: []Demand{{Scenario: skippedCase().Name, Word: "all"}, {Scenario: failedCase().Name, Names: []string{checker.Deadlock}}},
		Known: []KnownViolation{
			{Scenario: "redis-setnx/pause-holder", Property: checker.MutualExclusion, Kind: checker.KindLeaseOverrun, Reason: "a lease can be outlived", LastDay: "2026-11-30", DaysLeft: 11, Shown: 2},
			{Scenario: "redis-setnx", Property: checker.LostUpdate, Reason: "the nightly job", LastDay: "2026-10-01", Shown: 2},
			{Scenario: "etcd-lease", Property: checker.StuckLock, Reason: "LOCK-17", LastDay: "2027-03-31", DaysLeft: 132, Clear: 3},
		}}
}

// A gate's page says the ruling, why, each rule with what decides it, what is known and for how long, and what is left open, of one repetition as of many.
func TestGatePage(t *testing.T) {
	s := gated()
	g := gatedRuling()
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

// A property that only one of several runs judges is met by that run; one that none judges is never said to be met.
func TestGateRules(t *testing.T) {
	a, b := passCase(), passCase()
	a.Expect = []Expectation{{Property: checker.FIFO, Want: "pass", Got: "not judged", Met: true}, {Property: checker.TokenOrder, Want: "pass", Got: "not judged", Met: true}}
	b.Name, b.Dir = "b", "b"
	b.Expect = []Expectation{{Property: checker.FIFO, Want: "pass", Got: "pass", Met: true}, {Property: checker.TokenOrder, Want: "pass", Got: "not judged", Met: true}}
	rules, notJudged := Gate{}.rules(suite(a, b))
	if len(rules) != 1 || rules[0].State != ruleMet || rules[0].Says != "in 1 run" || len(rules[0].By) != 1 || rules[0].By[0].Name != "b" {
		t.Errorf("%d rules, the first %s %q by %v", len(rules), rules[0].State, rules[0].Says, rules[0].By)
	}
	if len(notJudged) != 1 || notJudged[0] != checker.TokenOrder {
		t.Errorf("not judged: %v", notJudged)
	}
	skipped := skippedCase()
	rules, _ = Gate{Demands: []Demand{{Scenario: skipped.Name, Word: "all"}}}.rules(suite(a, b, skipped))
	if len(rules) != 1 || rules[0].State != ruleOpen || rules[0].Property != checker.FIFO || len(rules[0].Others) != 1 {
		t.Errorf("a run that is missing leaves both rules open, in one row, not as %s %s %v", rules[0].State, rules[0].Property, rules[0].Others)
	}
}

func TestRuling(t *testing.T) {
	pass, open, broken, failed := passCase(), inconclusiveCase(), corruptedCase(), failedCase()
	open.Expect = []Expectation{{Property: checker.MutualExclusion, Want: "pass", Got: "inconclusive"}}
	pass.Expect = []Expectation{{Property: checker.MutualExclusion, Want: "pass", Got: "pass", Met: true}}
	broken.Expect = []Expectation{{Property: checker.LostUpdate, Want: "pass", Got: "violated"}}
	for _, c := range []struct {
		name string
		g    Gate
		s    Suite
		want string
	}{
		{"passed", Gate{}, suite(pass), "PASSED: Every rule is met in 1 run of 1 scenario."},
		{"passed and known", Gate{Known: []KnownViolation{{Shown: 1}}}, suite(pass), "PASSED: Every rule is met in 1 run of 1 scenario. 1 known violation showed and is tolerated."},
		{"passed, lenient", Gate{}, suite(pass, open), "PASSED: Every rule is met in 1 run of 2 scenarios. 1 run is left open, and the policy only warns of that."},
		{"violated", Gate{Exit: 1}, suite(pass, broken), "FAILED: lost-update must hold and is violated in redis-setnx/pause-holder/unfenced."},
		{"open", Gate{Exit: 2}, suite(pass, open), "FAILED: Nothing that must hold was violated, but 1 of 2 runs leaves something open."},
		{"nothing ran", Gate{Exit: 2}, suite(skippedCase()), "FAILED: Nothing was run to its verdict, so nothing is shown."},
		{"failed", Gate{Exit: 3}, suite(pass, failed), "FAILED: The run of " + failed.Name + " failed: "},
		{"failed and violated", Gate{Exit: 3}, suite(failed, broken), "Besides, lost-update must hold and is violated"},
		{"interrupted", Gate{Exit: 3, Broken: "it was interrupted"}, suite(pass), "FAILED: It was interrupted."},
	} {
		if got := c.g.Ruling(c.s); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// All that a policy says may be hostile: a reason is text, wherever it stands.
func TestGatePageHostile(t *testing.T) {
	s := suite(hostileCase())
	s.Name = hostile
	s.Scenarios[0].Expect = []Expectation{{Property: hostile, Want: hostile, Got: "violated", Note: hostile}, {Property: "x", Want: "known violation", Got: "violated", Met: true, Known: hostile}}
	g := Gate{Policy: hostile, Exit: 1, Inconclusive: hostile, Skipped: hostile, Broken: hostile, Demands: []Demand{{Scenario: hostile, Names: []string{hostile}}},
		Known: []KnownViolation{{Scenario: hostile, Property: hostile, Kind: hostile, Reason: hostile, LastDay: "2027-01-01"}}}
	for _, repetitions := range []int{1, 2} {
		text := gatePageOf(t, g, s, repetitions)
		checkMarkup(t, "gate", text)
		if i := strings.IndexFunc(text, hidden); i >= 0 {
			t.Errorf("a hidden character %q at %d", text[i], i)
		}
	}
	if ruling := g.Ruling(s); strings.ContainsAny(ruling, "\n\r\x1b") {
		t.Errorf("a ruling of several lines, or with an escape: %q", ruling)
	}
}
