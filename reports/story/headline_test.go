package story

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// A write that lost an update is called stale only where the verdict says that
// the store took a stale write.
func TestALostUpdateIsNoStaleWrite(t *testing.T) {
	for _, c := range []struct {
		stale bool
		says  string
	}{{true, "overwrote the work"}, {false, "an update was lost"}} {
		s := reporttest.CorruptedCase()
		for i := range s.Verdict.Properties {
			if p := &s.Verdict.Properties[i]; p.Name == checker.UnfencedWrite && !c.stale {
				*p = checker.PropertyResult{Name: p.Name, Outcome: checker.Pass}
			}
		}
		r := reports.NewRecord(s.History, s.Verdict)
		v := s.Property(checker.MutualExclusion).First()
		told := Retell(r, s, v, nil)
		if told.lostUpdate = c.stale; len(told.Stale) == 0 {
			t.Fatal("the story has no write that did harm")
		}
		text, _ := toldLede(r, s, &told)
		if got := text.String(); !strings.Contains(got, c.says) || !c.stale && strings.Contains(got, "stale") {
			t.Errorf("stale: %v: %q, want %q", c.stale, got, c.says)
		}
	}
}
