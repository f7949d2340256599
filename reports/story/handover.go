package story

import (
	"cmp"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
)

// Handover makes the story of one contended hand-over, for runs in which nothing
// went wrong, and counts how many there were: a key's grant to a client that was
// already waiting while another held it. It prefers one that a fault touched.
func Handover(r *reports.Record) (*Story, int) {
	last := map[history.KeyID]*history.Grant{}
	var best *Story
	n := 0
	for _, g := range r.Grants {
		before := last[g.Key]
		last[g.Key] = g
		if before == nil || before.Client == g.Client || before.LastAct == 0 || g.Start >= before.LastAct ||
			g.End < before.LastAct {
			continue
		}
		n++
		f := during(r, before)
		if best != nil && (best.Fault != nil || f == nil) {
			continue
		}
		best = &Story{A: before, B: g, Fault: f, Key: r.Key(g.Key), Violation: &checker.Violation{Key: r.Key(g.Key)}}
	}
	if best == nil {
		return nil, 0
	}
	ops := cast(r, best, nil)
	best.beside = otherFaults(r, best)
	best.Moments = chronology(r, best, ops)
	wait := Moment{At: best.B.Start, Who: best.B.Client,
		Arrow: &arrow{To: toService, Label: "acquire " + best.Key + " (waits)"}}
	wait.Text = Prose{}.b(r.Client(best.B.Client)).t(" asks for ").code(best.Key).t(" and has to wait.")
	i, _ := slices.BinarySearchFunc(best.Moments, wait, func(a, b Moment) int { return cmp.Compare(a.At, b.At) })
	best.Moments = slices.Insert(best.Moments, i, wait)
	best.shorten()
	return best, n
}

// during returns an injected fault that touched the holder of a grant.
func during(r *reports.Record, g *history.Grant) *history.FaultSpan {
	for _, f := range r.Faults {
		if f.Injected && f.Disturbs(g.Client) && f.From < g.LastAct && f.To > g.End {
			return f
		}
	}
	return nil
}
