package reports_test

import (
	"testing"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// What was not decided is no part of a rate, and is told beside it.
func TestRateOfRepetitions(t *testing.T) {
	s := reporttest.Repetition().Scenarios[0]
	if got := s.Violated(); got != (reports.Rate{1, 2}) {
		t.Errorf("violated in %v", got)
	}
	if !s.Flaky() || s.Count(reports.Inconclusive) != 1 || s.Count(reports.Failed) != 1 {
		t.Errorf("%+v", s)
	}
}
