package reports_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// TestCorruptedSaysWhat checks that a cell names what was corrupted where no write was stale.
func TestCorruptedSaysWhat(t *testing.T) {
	s := reporttest.CorruptedCase()
	s.Verdict.Stats.Stale = 0
	if got := s.Detail(); strings.Contains(got, "0 stale") || !regexp.MustCompile(`· \d+ increments lost$`).MatchString(got) {
		t.Errorf("of a counter: %q", got)
	}
	s.History.Header.Workload = "register"
	if got := s.Detail(); !strings.HasSuffix(got, "4 lost updates") {
		t.Errorf("of another workload: %q", got)
	}
	for property, want := range map[string]string{checker.OncePerTick: "1 repeated tick", checker.Overlap: "1 overlapping execution"} {
		s.Verdict.Properties = []checker.PropertyResult{{Name: property, Outcome: checker.Violated, Count: 3}}
		if got := s.Detail(); !strings.HasSuffix(got, want) {
			t.Errorf("of a job: %q, want %q", got, want)
		}
	}
}
