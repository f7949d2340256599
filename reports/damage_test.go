package reports_test

import (
	"testing"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// TestCounterAddsUp checks the figures themselves against the ledger.
func TestCounterAddsUp(t *testing.T) {
	for _, s := range []reports.Scenario{reporttest.PassCase(), reporttest.CorruptedCase(), reporttest.ContainedCase()} {
		var accepted, value int64
		for _, e := range s.History.Events {
			if e.Type == history.Ledger && e.Kind == history.Write && !e.Refused {
				accepted, value = accepted+1, e.Value
			}
		}
		got := s.Noted().Counters
		if want := (reports.Counter{"k0", accepted, value}); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v, want %v", s.Name, got, want)
		}
		if whole := s.Result() != reports.Corrupted; whole != (accepted == value) {
			t.Errorf("%s: %d accepted, the counter stands at %d", s.Name, accepted, value)
		}
	}
	for want, c := range map[string][]reports.Counter{
		"": nil,
		"86 of 198 increments were lost: the counter ends at 112":                        {{"a", 198, 112}},
		"1 of 1 increment was lost: the counter ends at 0":                               {{"a", 1, 0}},
		"all 203 increments are in the counter":                                          {{"a", 203, 203}},
		"2 of 30 increments were lost: the counters of 2 keys end together at 28":        {{"a", 10, 8}, {"b", 20, 20}},
		"1,172 of 1,200 increments were lost: the counters of 2 keys end together at 28": {{"a", 1180, 8}, {"b", 20, 20}},
		"2 increments were accepted, and the counter ends at 5":                          {{"a", 2, 5}},
	} {
		if got := reports.Damage(c); got != want {
			t.Errorf("damage(%v) = %q, want %q", c, got, want)
		}
	}
}
