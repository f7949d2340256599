package draw

import "testing"

func TestTicks(t *testing.T) {
	for v, want := range map[float64]float64{0.05: 0.1, 0.11: 0.25, 0.26: 0.5, 0.6: 1, 1.2: 2.5, 40: 50} {
		if got := tickStep(v); got < want*0.999 || got > want*1.001 {
			t.Errorf("%v: %v, want %v", v, got, want)
		}
	}
}
