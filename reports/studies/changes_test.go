package studies

import (
	"testing"

	"github.com/lockchaos/lockchaos/reports"
)

// Every pair of results has its change, and the way back is its opposite.
func TestChangesAreConsistent(t *testing.T) {
	opposite := map[Change]Change{Worse: Better, Better: Worse, Undecided: Decided, Decided: Undecided, Same: Same}
	for a := reports.Inconclusive; a <= reports.Failed; a++ {
		for b := reports.Inconclusive; b <= reports.Failed; b++ {
			there, back := change(a, b), change(b, a)
			if opposite[there] != back || (a == b) && there != Same {
				t.Errorf("%v to %v is %v, and back %v", a, b, there, back)
			}
		}
	}
}
