package page

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// The plot has a lane for each clock that was wrong, and for no other; in words
// and as a table it says the same.
func TestClocksArePlotted(t *testing.T) {
	s := reporttest.ClockCase()
	page := reportOf(t, s)
	for _, want := range []string{
		"the monotonic clock of client-2 from 0 to +1.6 s", "the wall clock of client-2 from −30 s to 0",
		"the wall clock of redis-1 from 0 to +1 h",
		`<td data-label="host">redis-1</td>`, `<td class="n" data-label="wall clock">−30 s</td>`, `<td data-label="step">healed</td>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(page, "the monotonic clock of redis-1") {
		t.Error("a clock that was never wrong has a lane")
	}
	if strings.Contains(reportOf(t, reporttest.CorruptedCase()), "<h2>Clocks</h2>") {
		t.Error("a run without faults of clocks shows clocks")
	}
}
