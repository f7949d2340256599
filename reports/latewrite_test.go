package reports

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// A write that was long under way is told and drawn when it arrived, not when it was sent.
func TestLateWritesAreToldWhenTheyArrive(t *testing.T) {
	s := corruptedCase()
	r := newRecord(s.History, s.Verdict)
	delayed := 0
	for i := range s.History.Events {
		if e := &s.History.Events[i]; e.Type == history.Ledger && r.stale[e.Op] {
			e.Time += 300 * ms
			delayed++
		}
	}
	page := reportOf(t, s)
	for _, want := range []string{"sends its write, which is long under way", "&#39;s write, sent 300 ms before, arrives as version "} {
		if delayed == 0 || !strings.Contains(page, want) {
			t.Errorf("%d writes were late, and the page does not say %q", delayed, want)
		}
	}
	unfenced := s.property(checker.UnfencedWrite)
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
	for _, o := range newRecord(s.History, s.Verdict).order {
		if o.kind != history.Write {
			continue
		}
		if late := o.atStore() != o.start; late != r.stale[o.id] {
			t.Errorf("write %d, stale %v: drawn %v after it was sent", o.id, r.stale[o.id], o.atStore()-o.start)
		}
	}
}

// A suite does not sound as if all were well where the data was corrupted without two holders.
func TestLateWritesAreNamedInTheSuite(t *testing.T) {
	s := corruptedCase()
	s.Fault = "hold-holder-write"
	for i := range s.Verdict.Properties {
		if p := &s.Verdict.Properties[i]; p.Name == checker.MutualExclusion {
			*p = checker.PropertyResult{Name: p.Name, Outcome: checker.Pass}
		}
	}
	want := "No lock let two clients in under hold holder write. Yet writes that came too late corrupted the data of redis-setnx."
	if got := suite(s).lede(); !strings.Contains(got, want) {
		t.Errorf("%q does not say %q", got, want)
	}
}
