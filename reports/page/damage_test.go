package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
	"github.com/lockchaos/lockchaos/reports/story"
)

// TestCounterNeedsWholeLedger checks that the counter is told where the ledger
// is whole, and nowhere else.
func TestCounterNeedsWholeLedger(t *testing.T) {
	is := func(typ history.Type, kind history.Kind) func(history.Event) bool {
		return func(e history.Event) bool { return e.Type == typ && e.Kind == kind }
	}
	without := func(h *history.History, match func(history.Event) bool) {
		i := slices.IndexFunc(h.Events, match)
		h.Events = slices.Delete(h.Events, i, i+1)
	}
	for name, c := range map[string]struct {
		spoil func(*reports.Scenario)
		told  bool
	}{
		"whole":          {func(*reports.Scenario) {}, true},
		"other workload": {func(s *reports.Scenario) { s.History.Header.Workload = "register" }, false},
		"no end":         {func(s *reports.Scenario) { without(s.History, is(history.End, history.KindNone)) }, false},
		"cut":            {func(s *reports.Scenario) { s.History.Truncated = true }, false},
		"entry missing":  {func(s *reports.Scenario) { without(s.History, is(history.Ledger, history.Write)) }, false},
		"read missing":   {func(s *reports.Scenario) { without(s.History, is(history.Ledger, history.Read)) }, false},
		"last entry missing": {func(s *reports.Scenario) {
			slices.Reverse(s.History.Events)
			without(s.History, is(history.Ledger, history.Write))
			slices.Reverse(s.History.Events)
		}, false},
		"judged as cut": {func(s *reports.Scenario) { s.Verdict.Truncated = true }, false},
		"version twice": {func(s *reports.Scenario) {
			n := slices.IndexFunc(s.History.Events, is(history.Ledger, history.Write))
			s.History.Events[n].Version++
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := reporttest.CorruptedCase()
			c.spoil(&s)
			text := reportOf(t, s)
			for _, claim := range []string{"were lost: the counter ends at", "counter at the end", "the counter falls from"} {
				if strings.Contains(text, claim) != c.told {
					t.Errorf("%q is told: %v, want %v", claim, !c.told, c.told)
				}
			}
		})
	}
}

// TestHolders checks that a page counts holders only where it knows how many there are.
func TestHolders(t *testing.T) {
	all := reporttest.CorruptedCase()
	all.Verdict.Stats.Overlapped = checker.Rate{} // as of a verdict that does not count them
	p := all.Property(checker.MutualExclusion)
	const keep = 60 // reaches into the third of four
	if p.Count <= keep {
		t.Fatalf("only %d double-holds", p.Count)
	}
	capped := all
	capped.Verdict.Properties = slices.Clone(all.Verdict.Properties)
	capped.Verdict.Properties[0].Violations = p.Violations[:keep]
	gone := capped
	gone.History = nil
	other := capped // holds as drawn that do not make as many pairs as the checker counted
	other.Verdict.Properties = slices.Clone(capped.Verdict.Properties)
	other.Verdict.Properties[0].Count++
	other.Verdict.Properties[0].Kinds = map[string]int{checker.KindLeaseOverrun: p.Count + 1}
	counted := other // the checker has
	counted.Verdict.Stats.Overlapped = checker.Rate{Count: 7, Of: 200}
	for _, c := range []struct {
		name           string
		s              reports.Scenario
		detail, phrase string
	}{
		{"all kept", all, "4 overruns · 4 stale writes", fmt.Sprintf("lease-overrun: 4 grants, in %d pairs of grants", p.Count)},
		{"capped", capped, "4 overruns · 4 stale writes", fmt.Sprintf("lease-overrun: 4 grants, in %d pairs of grants", p.Count)},
		{"no history", gone, "at least 3 overruns · 4 stale writes", "At least 3 holders went on past their lease"},
		{"counted", counted, "7 overruns · 4 stale writes", fmt.Sprintf("lease-overrun: 7 grants, in %d pairs of grants", p.Count+1)},
		{"disagreeing", other, "at least 3 overruns · 4 stale writes", "At least 3 holders of"},
	} {
		if got := c.s.Detail(); got != c.detail {
			t.Errorf("%s: the cell says %q, want %q", c.name, got, c.detail)
		}
		text := strings.ReplaceAll(reportOf(t, c.s), "at least", "At least")
		if !strings.Contains(text, c.phrase) {
			t.Errorf("%s: the report does not say %q", c.name, c.phrase)
		}
	}
	suite := reporttest.Suite(capped)
	suite.Twins()
	suite.Scenarios[0].History = nil
	if got := suite.Scenarios[0].Detail(); got != "4 overruns · 4 stale writes" {
		t.Errorf("once its history is gone the cell says %q", got)
	}
}

// TestToldTokenRefused checks that a contained page tells of the holder whose
// token made the store refuse, in its summary and its step alike.
func TestToldTokenRefused(t *testing.T) {
	s := reporttest.ContainedCase()
	r := reports.NewRecord(s.History, s.Verdict)
	v := reports.MainViolation(s, r)
	story := story.Retell(r, s, v, nil)
	if len(story.Refused) == 0 {
		t.Fatal("the told pair has no refused write")
	}
	top := r.FenceBefore(story.Refused[0])
	if top == nil || story.B.ID != top.ID {
		t.Fatalf("told of grant %d, but the store refused for %v", story.B.ID, top)
	}
	text := reportOf(t, s)
	for _, claim := range []string{fmt.Sprintf("the store had seen #%d by then", top.Token),
		fmt.Sprintf(`it has already seen <span class="tok">#%d</span>`, top.Token)} {
		if !strings.Contains(text, claim) {
			t.Errorf("the report does not say %q", claim)
		}
	}
}

// TestFailedThoughViolated checks that what was certain before a failure is
// told beside it, and does not hide it.
func TestFailedThoughViolated(t *testing.T) {
	s := reporttest.CorruptedCase()
	s.Failed, s.Met, s.Expect, s.Verdict.Truncated = "runs/x/redis: killed: exit status 137", false, nil, true
	s.History.Truncated = true
	if s.Result() != reports.Failed {
		t.Errorf("the result is %s", s.Result())
	}
	text := reportOf(t, s)
	for _, claim := range []string{`class="pill f">failed<`,
		"The scenario did not run to its end: runs/x/redis: killed", "what was recorded until then certainly shows",
		"mutual-exclusion, unfenced-write and lost-update violated", "<h2>What happened</h2>", "<h2>Violations</h2>",
		"Repair what failed", "Let the store refuse what comes after a pause"} {
		if !strings.Contains(text, claim) {
			t.Errorf("the report does not say %q", claim)
		}
	}
	if n := strings.Count(text, s.Failed); n != 1 {
		t.Errorf("the reason of the failure stands there %d times", n)
	}
	if strings.Contains(text, "the counter ends at") {
		t.Error("the counter of a cut history is told")
	}
	if index := indexOf(t, reporttest.Suite(s)); !strings.Contains(index, "certainly shows mutual-exclusion") ||
		!strings.Contains(index, ">runs/x/redis") {
		t.Error("the index does not tell both")
	}
}

// TestOneVocabulary checks that a page's pill, its cell and the index's glossary use the same word.
func TestOneVocabulary(t *testing.T) {
	for _, s := range []reports.Scenario{reporttest.PassCase(), reporttest.CorruptedCase(), reporttest.ContainedCase(),
		reporttest.InconclusiveCase(), reporttest.FailedCase(), reporttest.SkippedCase()} {
		word := s.Result().String()
		if !strings.Contains(reportOf(t, s), `<h1><span class="pill `+resultClass(s.Result())+`">`+word+"</span>") {
			t.Errorf("%s: the page's pill does not say %q", s.Name, word)
		}
		if text := indexOf(t, reporttest.Suite(s)); !strings.Contains(text, "</span> "+word) ||
			!slices.ContainsFunc(story.ResultWords, func(e story.Entry) bool { return e.Word == word }) {
			t.Errorf("%s: the index does not say %q and what it means", s.Name, word)
		}
	}
}
