package reports

import (
	"math"
	"testing"
)

// The intervals are those of statsmodels' proportion_confint(method="wilson").
func TestWilsonsInterval(t *testing.T) {
	for _, c := range []struct {
		rate      Rate
		low, high float64
	}{
		{Rate{0, 10}, 0, 0.2775},
		{Rate{10, 10}, 0.7225, 1},
		{Rate{1, 10}, 0.0179, 0.4042},
		{Rate{5, 10}, 0.2366, 0.7634},
		{Rate{15, 20}, 0.5313, 0.8881},
		{Rate{0, 0}, 0, 1},
	} {
		low, high := c.rate.Interval()
		if math.Abs(low-c.low) > 5e-5 || math.Abs(high-c.high) > 5e-5 {
			t.Errorf("%v: %.4f to %.4f, want %.4f to %.4f", c.rate, low, high, c.low, c.high)
		}
	}
}

// Nothing that was seen is told as never, and nothing that was missed as always.
func TestRatesAreNotRoundedAway(t *testing.T) {
	for r, want := range map[Rate]string{{0, 0}: "nothing judged", {0, 7}: "0 % of 7", {7, 7}: "100 % of 7",
		{1, 1000}: "< 1 % of 1000", {999, 1000}: "> 99 % of 1000", {1, 3}: "33 % of 3"} {
		if got := r.String(); got != want {
			t.Errorf("%d of %d: %q, want %q", r.Hits, r.Of, got, want)
		}
	}
}
