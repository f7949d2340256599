package draw

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// TestThroughput checks the means against the count of what was done, and that
// a run of nothing draws nothing.
func TestThroughput(t *testing.T) {
	s := reporttest.PassCase()
	r := reports.NewRecord(s.History, s.Verdict)
	p := Throughput(r)
	seconds := float64(r.End-r.RunStart()) / 1e9
	if want := perSecond(float64(len(r.Grants)) / seconds); p.Grants != want {
		t.Errorf("%s grants, not %s", p.Grants, want)
	}
	if want := perSecond(float64(s.Verdict.Stats.Accepted) / seconds); p.Writes != want {
		t.Errorf("%s writes, not %s", p.Writes, want)
	}
	// What comes after the workload is the probes' and counts for nothing.
	h := *s.History
	h.Events = append([]history.Event{{Time: r.End / 2, Type: history.Mark, Text: history.PhaseProbe}}, h.Events...)
	if half := Throughput(reports.NewRecord(&h, s.Verdict)); half.Grants == "" || strings.Contains(string(half.Drawing), "NaN") {
		t.Errorf("half a run: %+v", half)
	}
	empty := Throughput(reports.NewRecord(&history.History{}, s.Verdict))
	if empty.Drawing != "" {
		t.Errorf("an empty run draws %s", empty.Drawing)
	}
}

func TestRoundRate(t *testing.T) {
	for v, want := range map[float64]float64{0: 0.1, 0.1: 0.1, 0.3: 0.5, 1: 1, 7: 10, 34: 50, 1200: 2000} {
		if got := roundRate(v); got != want {
			t.Errorf("%v: %v, not %v", v, got, want)
		}
	}
}
