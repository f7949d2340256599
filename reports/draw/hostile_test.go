package draw

import (
	"math"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/reports"
)

// TestHostileAxis: an axis has a few marks, whatever interval it shows.
func TestHostileAxis(t *testing.T) {
	for _, s := range []scale{{from: 0, to: math.MaxInt64}, {from: math.MaxInt64 - 100, to: math.MaxInt64},
		{from: math.MinInt64, to: math.MaxInt64},
		{from: math.MinInt64, to: math.MinInt64 + 5000}, {from: math.MaxInt64 - 1e6, to: math.MaxInt64},
		{from: -5, to: 1e9}, {from: 10, to: 5}} {
		s.x0, s.x1 = 0, 900
		d := &svg{}
		s.axis(d, 0, 10, reports.Labels{})
		if n := strings.Count(d.b.String(), "gridline"); n > 25 {
			t.Errorf("%d to %d: %d marks", s.from, s.to, n)
		}
	}
}
