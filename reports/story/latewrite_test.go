package story

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// A suite does not sound as if all were well where the data was corrupted without two holders.
func TestLateWritesAreNamedInTheSuite(t *testing.T) {
	s := reporttest.CorruptedCase()
	s.Fault, s.Strike = "hold-holder-write", reports.OtherStrike
	for i := range s.Verdict.Properties {
		if p := &s.Verdict.Properties[i]; p.Name == checker.MutualExclusion {
			*p = checker.PropertyResult{Name: p.Name, Outcome: checker.Pass}
		}
	}
	want := "No lock let two clients in under hold holder write. Yet writes that came too late corrupted the data of redis-setnx."
	if got := SuiteLede(reporttest.Suite(s)); !strings.Contains(got, want) {
		t.Errorf("%q does not say %q", got, want)
	}
}
