package redsync

import (
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// TestValidFor: counted from the attempt it ends when the library says, and what is over is not
// made to look longer by what the call took.
func TestValidFor(t *testing.T) {
	const took, margin = 300 * time.Millisecond, 100 * time.Millisecond
	for _, left := range []time.Duration{time.Second, -time.Second, -margin} {
		decided.Run(t, func() {
			began := monotime.Now()
			attempt := began - int64(took)
			got := time.Duration(validFor(attempt, time.Now().Add(left)))
			want := left + took
			if left <= 0 {
				want = left
			}
			if asked := monotime.Since(began); asked > margin/2 {
				decided.Lacks("an answer at once: it took %v", asked)
			}
			if got > want+margin || got < want-margin || left <= 0 && got > 0 {
				t.Errorf("%v left after %v: %v from the attempt on, want %v", left, took, got, want)
			}
		})
	}
}
