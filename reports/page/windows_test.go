package page

import (
	"testing"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// TestTimelineOpensOnTheOverlap checks that a page opens where two held, wide
// enough to see who held and who wrote, and that each violation does.
func TestTimelineOpensOnTheOverlap(t *testing.T) {
	for name, s := range map[string]reports.Scenario{"corrupted": reporttest.CorruptedCase(),
		"contained": reporttest.ContainedCase(), "surprise": reporttest.SurpriseCase()} {
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
				at := phrase.Micro(a.Time)
				wrote = wrote || at >= told.View[0] && at <= told.View[1]
			}
		}
		if !wrote {
			t.Errorf("%s: no write lies in %v", name, told.View)
		}
	}
}
