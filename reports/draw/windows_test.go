package draw

import (
	"testing"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// TestCloseUp checks what a close up takes in.
func TestCloseUp(t *testing.T) {
	r := &reports.Record{View: &history.View{}}
	for _, c := range []struct {
		name         string
		lo, hi       int64
		acts         []int64
		from, to     int64
		wantLo, last int64 // ms; 0 and 0: none
	}{
		{"a write right after", 1000, 1012, []int64{1020}, 0, 2000, 993, 1026},
		{"a write long after does not make it a sliver", 1000, 1012, []int64{1020, 1900}, 0, 2000, 993, 1026},
		{"a write before", 1000, 1012, []int64{960}, 0, 2000, 942, 1029},
		{"a story that shows it as well", 1000, 1400, []int64{1020}, 0, 2000, 0, 0},
		{"an overlap of nothing", 1000, 1000, nil, 0, 2000, 0, 0},
		{"at the edge of the story", 5, 17, nil, 3, 2000, 3, 21},
	} {
		for i := range c.acts {
			c.acts[i] *= reporttest.Ms
		}
		lo, hi, ok := closeUp(r, c.lo*reporttest.Ms, c.hi*reporttest.Ms, c.acts, c.from*reporttest.Ms, c.to*reporttest.Ms)
		if ok != (c.last > 0) || ok && (lo/reporttest.Ms != c.wantLo || hi/reporttest.Ms != c.last) {
			t.Errorf("%s: %d to %d ms, %v; want %d to %d", c.name, lo/reporttest.Ms, hi/reporttest.Ms, ok, c.wantLo, c.last)
		}
	}
}
