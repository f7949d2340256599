package page

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// The table tells a planned fault that never came from one that came and had no
// effect, and a fault of nodes, who hold nothing, from one that met no holder.
func TestFaultTable(t *testing.T) {
	page := reportOf(t, reporttest.InconclusiveCase())
	for _, want := range []string{
		`pause</a><small>holder, random</small> <span class="pill i">no effect</span>`, reporttest.PlannedPause,
		`partition</a><small>minority, random</small> <span class="pill i">never struck</span>`, "for 1s, after 2m0s",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	bitten := reportOf(t, reporttest.CorruptedCase())
	for _, want := range []string{"State T on 9 of 9 threads", "(the first of 4)", "faults that hit what they were aimed at"} {
		if !strings.Contains(bitten, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if page := reportOf(t, reporttest.PassCase()); !strings.Contains(page, "No fault was planned") {
		t.Error("a page without faults does not say so")
	}
	s := reporttest.PassCase()
	s.Verdict.Stats.Faults = []checker.FaultStats{{Plan: 1, Kind: "pause", Injected: true}}
	if got := s.Detail(); !strings.Contains(got, "1 planned never struck") {
		t.Errorf("%q", got)
	}
}
