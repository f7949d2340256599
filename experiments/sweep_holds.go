package experiments

import (
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports/studies"
)

// StruckHolds counts in one history the holds that a proven strike met, and which of them are part of a violation.
func StruckHolds(h *history.History, property string) studies.CurvePoint {
	p := studies.CurvePoint{Runs: 1}
	grants := holdsOf(h)
	struck := map[int64]bool{}
	for i := range h.Events {
		f := h.Events[i].Fault
		if h.Events[i].Type != history.Fault || f == nil || f.Phase != "end" || !f.Injected || !f.Bit {
			continue
		}
		met := grants.met(f)
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

// holds are the grants of a history: from the end of the acquire to when the release was asked for; 0: never.
type holds map[int64]*struct{ from, to int64 }

func holdsOf(h *history.History) holds {
	out := holds{}
	for i := range h.Events {
		e := &h.Events[i]
		switch {
		case e.Kind == history.Acquire && e.Type == history.OK:
			out[e.Op] = &struct{ from, to int64 }{from: max(e.End, e.Start)}
		case e.Kind == history.Release && e.Type == history.Invoke && out[e.Grant] != nil && out[e.Grant].to == 0:
			out[e.Grant].to = e.Time
		}
	}
	return out
}

// met are the grants that a fault met: that of the holder whom it struck or, of one that struck nodes, all that were held just then.
func (all holds) met(f *history.FaultInfo) (grants []int64) {
	if f.Holding != 0 {
		return []int64{f.Holding}
	}
	for grant, held := range all {
		if f.Service && held.from <= f.From && (held.to == 0 || held.to >= f.From) {
			grants = append(grants, grant)
		}
	}
	return grants
}

// Harmful are the properties whose violation harms data.
var Harmful = []string{checker.LostUpdate, checker.UnfencedWrite, checker.DuplicateEffect}
