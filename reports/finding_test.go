package reports_test

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// TestDefectBeforeInherentProperty checks the order of findings: a property that
// shows a defect comes before mutual-exclusion where that is overruns only.
func TestDefectBeforeInherentProperty(t *testing.T) {
	s := reporttest.MixedCase()
	p := s.Property(checker.MutualExclusion)
	p.Violations, p.Count = p.Violations[:p.Count-1], p.Count-1
	p.Kinds = map[string]int{checker.KindLeaseOverrun: p.Count}
	if got := s.FindingsOf(); got[0].Rule != checker.Continuity {
		t.Errorf("without expectations the first finding is of %s", got[0].Rule)
	}
	for _, x := range s.Verdict.Properties {
		s.Expect = append(s.Expect, reports.Expectation{Property: x.Name, Want: "pass", Got: x.Outcome.String(),
			Met: x.Outcome != checker.Violated})
	}
	if got := s.FindingsOf(); got[0].Rule != checker.Continuity || !strings.HasPrefix(got[0].Text, "continuity violated once. ") {
		t.Errorf("the first finding is of %s: %s", got[0].Rule, got[0].Text)
	}
	if got := s.Missed(); got[0].Property != checker.Continuity {
		t.Errorf("the first expectation that was missed is of %s", got[0].Property)
	}
	if v := reports.Told(s); v == nil || v.Property != checker.Continuity {
		t.Errorf("told is %v, want a false confirmation", v)
	}
}
