package page

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// A write that was long under way is told and drawn when it arrived, not when it was sent.
func TestLateWritesAreToldWhenTheyArrive(t *testing.T) {
	s := reporttest.CorruptedCase()
	r := reports.NewRecord(s.History, s.Verdict)
	delayed := 0
	for i := range s.History.Events {
		if e := &s.History.Events[i]; e.Type == history.Ledger && r.Stale[e.Op] {
			e.Time += 300 * reporttest.Ms
			delayed++
		}
	}
	page := reportOf(t, s)
	for _, want := range []string{"sends its write, which is long under way", "&#39;s write, sent 300 ms before, arrives as version "} {
		if delayed == 0 || !strings.Contains(page, want) {
			t.Errorf("%d writes were late, and the page does not say %q", delayed, want)
		}
	}
	unfenced := s.Property(checker.UnfencedWrite)
	for i := range s.Verdict.Properties {
		if p := &s.Verdict.Properties[i]; p.Name != checker.UnfencedWrite {
			p.Outcome, p.Count, p.Violations = checker.Pass, 0, nil
		}
	}
	for i := range unfenced.Violations {
		unfenced.Violations[i].Kind = "in-flight"
	}
	if page := reportOf(t, s); !strings.Contains(page, "it was 300 ms under way and arrived when client ") {
		t.Error("the lede does not tell of the late write")
	}
	for _, o := range reports.NewRecord(s.History, s.Verdict).Ops {
		if o.Kind != history.Write {
			continue
		}
		if late := o.AtStore() != o.Start; late != r.Stale[o.ID] {
			t.Errorf("write %d, stale %v: drawn %v after it was sent", o.ID, r.Stale[o.ID], o.AtStore()-o.Start)
		}
	}
}
