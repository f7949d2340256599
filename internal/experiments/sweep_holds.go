package experiments

import (
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports/studies"
)

// StruckHolds counts in one history the holds that a proven strike met, and
// which of them are part of a violation.
func StruckHolds(h *history.History, property string) studies.CurvePoint {
	p := studies.CurvePoint{Runs: 1}
	view, struck := history.NewView(h), map[int64]bool{}
	for _, f := range view.Faults {
		if !f.Ended || !f.Injected || !f.Bit {
			continue
		}
		met := metBy(view, f)
		if len(met) == 0 {
			p.Missed++
			continue
		}
		for _, grant := range met {
			struck[grant] = true
		}
		if d := f.To - f.From; d > 0 {
			p.Add(studies.CurvePoint{Shortest: d, Longest: d})
		}
	}
	violated, harmed := map[int64]bool{}, map[int64]bool{}
	for _, judged := range checker.Judge(h, checker.Options{Keep: len(h.Events)}).Properties {
		for _, v := range judged.Violations {
			for _, g := range []*checker.GrantRef{v.A, v.B} {
				if g == nil || !struck[g.Grant] {
					continue
				}
				if v.Property == property {
					violated[g.Grant] = true
				}
				if slices.Contains(Harmful, v.Property) {
					harmed[g.Grant] = true
				}
			}
		}
	}
	p.Struck, p.Violated, p.Harmed = len(struck), len(violated), len(harmed)
	return p
}

// metBy are the grants that a fault met: the struck holder's, or for nodes all that were held.
func metBy(view *history.View, f *history.FaultSpan) (grants []int64) {
	switch {
	case f.Holding != 0:
		return []int64{f.Holding}
	case f.Service:
		for _, g := range view.HeldAt(f.From) {
			grants = append(grants, g.ID)
		}
	}
	return grants
}

// Harmful are the properties whose violation harms data.
var Harmful = []string{checker.LostUpdate, checker.UnfencedWrite, checker.DuplicateEffect}
