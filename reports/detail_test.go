package reports_test

import (
	"regexp"
	"strings"
	"testing"

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
}
