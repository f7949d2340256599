package reports

import (
	"strings"
	"testing"
	"time"
)

// The plot has a lane for each clock that was wrong, and for no other; in words and as a table it says the same.
func TestClocksArePlotted(t *testing.T) {
	s := clockCase()
	page := reportOf(t, s)
	for _, want := range []string{
		"the monotonic clock of client-2 from 0 to +1.6 s", "the wall clock of client-2 from −30 s to 0", "the wall clock of redis-1 from 0 to +1 h",
		`<td data-label="host">redis-1</td>`, `<td class="n" data-label="wall clock">−30 s</td>`, `<td data-label="step">healed</td>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(page, "the monotonic clock of redis-1") {
		t.Error("a clock that was never wrong has a lane")
	}
	if strings.Contains(reportOf(t, corruptedCase()), "<h2>Clocks</h2>") {
		t.Error("a run without faults of clocks shows clocks")
	}
}

// A jump is drawn as a step, a rate as a slope.
func TestClockPath(t *testing.T) {
	s, y := scale{0, 100, 0, 100}, func(off int64) float64 { return float64(off) }
	points := []clockPoint{{at: 9, step: "before"}, {at: 10, off: 5, step: "begin"}, {at: 20, off: 5}, {at: 30, off: 25, step: "end"}, {at: 31, step: "healed"}}
	if got := clockPath(points, s, y); got != "M9 0H10V5L20 5L30 25H31V0" {
		t.Error(got)
	}
}

func TestOffset(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 900 * time.Microsecond: "0", -time.Second: "−1 s", time.Hour: "+1 h", time.Hour - 20*time.Microsecond: "+1 h", 90 * time.Minute: "+1 h 30 min",
		-20 * 365 * 24 * time.Hour: "−7300 d", 1500 * time.Millisecond: "+1.5 s",
	} {
		if got := offset(int64(d)); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
