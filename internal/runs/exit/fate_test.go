package exit

import (
	"testing"

	"github.com/lockchaos/lockchaos/reports"
)

// TestOfFate: only a defect fails an exam. What is not clear leaves it open.
func TestOfFate(t *testing.T) {
	for fate, want := range map[reports.Fate]int{reports.FellDefect: Violated, reports.FellUnclear: Inconclusive,
		reports.FellRelied: OK, reports.FellInherent: OK,
		reports.NothingFollows: Inconclusive, reports.NotRun: Failed, reports.Stood: OK} {
		if got := OfFate(fate); got != want {
			t.Errorf("%s: status %d, want %d", fate, got, want)
		}
	}
}
