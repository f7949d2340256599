package reports

import (
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestTimelineOpensOnTheOverlap checks that a page opens where two held, wide enough to see who held and who wrote, and that each violation does.
func TestTimelineOpensOnTheOverlap(t *testing.T) {
	for name, s := range map[string]Scenario{"corrupted": corruptedCase(), "contained": containedCase(), "surprise": surpriseCase()} {
		x := explored(t, reportOf(t, s))
		told := x.Violations[x.Told-1]
		if x.View != told.View || told.To <= told.From {
			t.Errorf("%s: the page opens at %v, its violation at %v", name, x.View, told.View)
		}
		for _, v := range x.Violations {
			if v.From == 0 {
				continue
			}
			if v.View[0] > v.From || v.View[1] < v.To {
				t.Errorf("%s: %v does not show the overlap %d to %d", name, v.View, v.From, v.To)
			}
			if v.Story[0] > v.View[0] || v.Story[1] < v.View[1] {
				t.Errorf("%s: the story %v is less than its close up %v", name, v.Story, v.View)
			}
			if wide := float64(v.To-v.From) / float64(v.View[1]-v.View[0]); wide < 0.05 && v.To-v.From > 1000 {
				t.Errorf("%s: the overlap of %d µs is %.1f %% of the view %v", name, v.To-v.From, 100*wide, v.View)
			}
		}
		if wide := float64(told.To-told.From) / float64(told.View[1]-told.View[0]); wide < 0.1 {
			t.Errorf("%s: the overlap that is told is %.1f %% of what the page opens on", name, 100*wide)
		}
		wrote := false
		for _, a := range s.History.Events {
			if a.Type == history.Ledger {
				at := micro(a.Time)
				wrote = wrote || at >= told.View[0] && at <= told.View[1]
			}
		}
		if !wrote {
			t.Errorf("%s: no write lies in %v", name, told.View)
		}
	}
}

// TestCloseUp checks what a close up takes in.
func TestCloseUp(t *testing.T) {
	r := &record{}
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
			c.acts[i] *= ms
		}
		lo, hi, ok := r.closeUp(c.lo*ms, c.hi*ms, c.acts, c.from*ms, c.to*ms)
		if ok != (c.last > 0) || ok && (lo/ms != c.wantLo || hi/ms != c.last) {
			t.Errorf("%s: %d to %d ms, %v; want %d to %d", c.name, lo/ms, hi/ms, ok, c.wantLo, c.last)
		}
	}
}
