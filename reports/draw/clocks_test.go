package draw

import (
	"testing"
	"time"
)

// A jump is drawn as a step, a rate as a slope.
func TestClockPath(t *testing.T) {
	s, y := scale{0, 100, 0, 100}, func(off int64) float64 { return float64(off) }
	points := []clockPoint{{at: 9, step: "before"}, {at: 10, off: 5, step: "begin"}, {at: 20, off: 5},
		{at: 30, off: 25, step: "end"}, {at: 31, step: "healed"}}
	if got := clockPath(points, s, y); got != "M9 0H10V5L20 5L30 25H31V0" {
		t.Error(got)
	}
}

func TestOffset(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 900 * time.Microsecond: "0", -time.Second: "−1 s", time.Hour: "+1 h",
		time.Hour - 20*time.Microsecond: "+1 h", 90 * time.Minute: "+1 h 30 min",
		-20 * 365 * 24 * time.Hour: "−7300 d", 1500 * time.Millisecond: "+1.5 s",
	} {
		if got := offset(int64(d)); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
