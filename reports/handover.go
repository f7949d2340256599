package reports

import (
	"cmp"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// handover makes the story of one contended hand-over, for runs in which nothing went wrong, and counts how many there were: a key's
// grant to a client that was already waiting while another held it. It prefers one that a fault touched.
func (r *record) handover() (*story, int) {
	last := map[history.KeyID]*grant{}
	var best *story
	n := 0
	for _, g := range r.grants {
		before := last[g.key]
		last[g.key] = g
		if before == nil || before.client == g.client || before.last == 0 || g.start >= before.last || g.end < before.last {
			continue
		}
		n++
		f := r.during(before)
		if best != nil && (best.fault != nil || f == nil) {
			continue
		}
		best = &story{a: before, b: g, fault: f, key: r.key(g.key), v: &checker.Violation{Key: r.key(g.key)}}
	}
	if best == nil {
		return nil, 0
	}
	ops := r.cast(best, nil)
	best.beside = r.besides(best)
	best.Moments = r.moments(best, ops)
	wait := moment{At: best.b.start, who: best.b.client, arrow: &arrow{to: toService, label: "acquire " + best.key + " (waits)"}}
	wait.Text = prose{}.b(r.client(best.b.client)).t(" asks for ").code(best.key).t(" and has to wait.")
	i, _ := slices.BinarySearchFunc(best.Moments, wait, func(a, b moment) int { return cmp.Compare(a.At, b.At) })
	best.Moments = slices.Insert(best.Moments, i, wait)
	best.shorten()
	return best, n
}

// during returns an injected fault that touched the holder of a grant.
func (r *record) during(g *grant) *fault {
	for _, f := range r.faults {
		if f.Injected && f.touches(g.client) && f.From < g.last && f.To > g.end {
			return f
		}
	}
	return nil
}
