package story

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// TestUndisturbedRunsAreCounted as what they are, also where their column is named after an attack.
func TestUndisturbedRunsAreCounted(t *testing.T) {
	s := reporttest.Diagonal(8)
	for i := range s.Scenarios {
		if x := &s.Scenarios[i]; x.Fault == "none" {
			x.Fault, x.Undisturbed = "nothing-work", true
		}
	}
	if text := byFaultSentence(s.Scenarios); !strings.HasPrefix(text, "8 kinds of disturbance") ||
		!strings.Contains(text, "none of 8 disturbed runs") {
		t.Error(text)
	}
}
