package reports

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// TestCounterNeedsWholeLedger checks that the counter is told where the ledger is whole, and nowhere else.
func TestCounterNeedsWholeLedger(t *testing.T) {
	is := func(typ history.Type, kind history.Kind) func(history.Event) bool {
		return func(e history.Event) bool { return e.Type == typ && e.Kind == kind }
	}
	without := func(h *history.History, match func(history.Event) bool) {
		i := slices.IndexFunc(h.Events, match)
		h.Events = slices.Delete(h.Events, i, i+1)
	}
	for name, c := range map[string]struct {
		spoil func(*Scenario)
		told  bool
	}{
		"whole":          {func(*Scenario) {}, true},
		"other workload": {func(s *Scenario) { s.History.Header.Workload = "register" }, false},
		"no end":         {func(s *Scenario) { without(s.History, is(history.End, history.KindNone)) }, false},
		"cut":            {func(s *Scenario) { s.History.Truncated = true }, false},
		"entry missing":  {func(s *Scenario) { without(s.History, is(history.Ledger, history.Write)) }, false},
		"read missing":   {func(s *Scenario) { without(s.History, is(history.Ledger, history.Read)) }, false},
		"last entry missing": {func(s *Scenario) {
			slices.Reverse(s.History.Events)
			without(s.History, is(history.Ledger, history.Write))
			slices.Reverse(s.History.Events)
		}, false},
		"judged as cut": {func(s *Scenario) { s.Verdict.Truncated = true }, false},
		"version twice": {func(s *Scenario) {
			n := slices.IndexFunc(s.History.Events, is(history.Ledger, history.Write))
			s.History.Events[n].Version++
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := corruptedCase()
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

// TestCounterAddsUp checks the figures themselves against the ledger.
func TestCounterAddsUp(t *testing.T) {
	for _, s := range []Scenario{passCase(), corruptedCase(), containedCase()} {
		var accepted, value int64
		for _, e := range s.History.Events {
			if e.Type == history.Ledger && e.Kind == history.Write && !e.Refused {
				accepted, value = accepted+1, e.Value
			}
		}
		got := s.noted().counters
		if want := (Counter{"k0", accepted, value}); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v, want %v", s.Name, got, want)
		}
		if whole := s.Result() != Corrupted; whole != (accepted == value) {
			t.Errorf("%s: %d accepted, the counter stands at %d", s.Name, accepted, value)
		}
	}
	for want, c := range map[string][]Counter{
		"": nil,
		"86 of 198 increments were lost: the counter ends at 112":                        {{"a", 198, 112}},
		"1 of 1 increment was lost: the counter ends at 0":                               {{"a", 1, 0}},
		"all 203 increments are in the counter":                                          {{"a", 203, 203}},
		"2 of 30 increments were lost: the counters of 2 keys end together at 28":        {{"a", 10, 8}, {"b", 20, 20}},
		"1,172 of 1,200 increments were lost: the counters of 2 keys end together at 28": {{"a", 1180, 8}, {"b", 20, 20}},
		"2 increments were accepted, and the counter ends at 5":                          {{"a", 2, 5}},
	} {
		if got := damage(c); got != want {
			t.Errorf("damage(%v) = %q, want %q", c, got, want)
		}
	}
}

// TestHolders checks that a page counts holders only where it knows how many there are.
func TestHolders(t *testing.T) {
	all := corruptedCase()
	all.Verdict.Stats.Overlapped = checker.Rate{} // as of a verdict that does not count them
	p := all.property(checker.MutualExclusion)
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
		s              Scenario
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
	suite := suite(capped)
	suite.Twins()
	suite.Scenarios[0].History = nil
	if got := suite.Scenarios[0].Detail(); got != "4 overruns · 4 stale writes" {
		t.Errorf("once its history is gone the cell says %q", got)
	}
}

// TestToldTokenRefused checks that a contained page tells of the holder whose token made the store refuse, in its summary and its step alike.
func TestToldTokenRefused(t *testing.T) {
	s := containedCase()
	r := newRecord(s.History, s.Verdict)
	v := telling(s, r)
	story := r.retell(s, v, nil)
	if len(story.refused) == 0 {
		t.Fatal("the told pair has no refused write")
	}
	top := r.fenceBefore(story.refused[0])
	if top == nil || story.b.id != top.id {
		t.Fatalf("told of grant %d, but the store refused for %v", story.b.id, top)
	}
	text := reportOf(t, s)
	for _, claim := range []string{fmt.Sprintf("the store had seen #%d by then", top.token), fmt.Sprintf(`it has already seen <span class="tok">#%d</span>`, top.token)} {
		if !strings.Contains(text, claim) {
			t.Errorf("the report does not say %q", claim)
		}
	}
}

// TestFailedThoughViolated checks that what was certain before a failure is told beside it, and does not hide it.
func TestFailedThoughViolated(t *testing.T) {
	s := corruptedCase()
	s.Failed, s.Met, s.Expect, s.Verdict.Truncated = "runs/x/redis: killed: exit status 137", false, nil, true
	s.History.Truncated = true
	if s.Result() != Failed {
		t.Errorf("the result is %s", s.Result())
	}
	text := reportOf(t, s)
	for _, claim := range []string{`class="pill f">failed<`, "The scenario did not run to its end: runs/x/redis: killed", "what was recorded until then certainly shows",
		"mutual-exclusion, unfenced-write and lost-update violated", "<h2>What happened</h2>", "<h2>Violations</h2>", "Repair what failed", "Let the store refuse what comes after a pause"} {
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
	if index := indexOf(t, suite(s)); !strings.Contains(index, "certainly shows mutual-exclusion") || !strings.Contains(index, ">runs/x/redis") {
		t.Error("the index does not tell both")
	}
}

// TestOneVocabulary checks that a page's pill, its cell and the index's glossary use the same word.
func TestOneVocabulary(t *testing.T) {
	for _, s := range []Scenario{passCase(), corruptedCase(), containedCase(), inconclusiveCase(), failedCase(), skippedCase()} {
		word := s.Result().String()
		if !strings.Contains(reportOf(t, s), `<h1><span class="pill `+resultClass(s.Result())+`">`+word+"</span>") {
			t.Errorf("%s: the page's pill does not say %q", s.Name, word)
		}
		if text := indexOf(t, suite(s)); !strings.Contains(text, "</span> "+word) || !slices.ContainsFunc(resultWords, func(e entry) bool { return e.Word == word }) {
			t.Errorf("%s: the index does not say %q and what it means", s.Name, word)
		}
	}
}
