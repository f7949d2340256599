package reports

import (
	"cmp"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
)

// around returns the window that shows a story with some air on both sides.
func (r *record) around(t *story) (from, to int64) {
	from, to = r.end, 0
	for _, m := range t.Moments {
		from, to = min(from, m.At), max(to, m.At)
	}
	if len(t.Moments) == 0 {
		from, to = t.v.From, max(t.v.From, t.v.To, t.v.At)
	}
	if t.a != nil {
		from = min(from, t.a.end)
	}
	air := max((to-from)/8, 60e6)
	return max(from-air, 0), min(to+air, max(r.end, to))
}

// closeUpShare is how many times a window may be as long as the overlap that it is to show. On a screen the overlap is then wide enough to see who
// held and who wrote; a story that is not longer needs no close up.
const closeUpShare = 6

// closeUp returns a window on the time [lo, hi] for which a violation lasted, inside [from, to]: with the acts beside it, the nearest first, as far as
// they leave it wide enough. There is none where the whole of [from, to] shows it as well.
func (r *record) closeUp(lo, hi int64, acts []int64, from, to int64) (_, _ int64, ok bool) {
	most := closeUpShare * max(hi-lo, 1e6)
	if lo <= 0 || hi <= lo || most >= to-from {
		return 0, 0, false
	}
	far := func(at int64) int64 { return max(lo-at, at-hi, 0) }
	slices.SortFunc(acts, func(a, b int64) int { return cmp.Compare(far(a), far(b)) })
	for _, at := range acts {
		if max(hi, at)-min(lo, at) <= most {
			lo, hi = min(lo, at), max(hi, at)
		}
	}
	air := max((hi-lo)/3, 1e6)
	lo, hi = max(lo-air, from), min(hi+air, to)
	return lo, hi, (hi-lo)*4 < (to-from)*3
}

// closeUpOf returns a close up of a story.
func (r *record) closeUpOf(t *story, from, to int64) (lo, hi int64, ok bool) {
	if !t.rivals() {
		return 0, 0, false
	}
	lo, hi = t.b.end, t.b.last
	if t.v.From > 0 && t.v.To > t.v.From {
		lo, hi = t.v.From, t.v.To
	}
	acts := []int64{t.b.end, t.b.last, t.actsAgain()}
	for _, o := range slices.Concat(t.stale, t.refused, t.b.ops) {
		acts = append(acts, o.atStore())
	}
	return r.closeUp(lo, hi, acts, from, to)
}

// placeOf says where a violation lies, with some air around it.
func (r *record) placeOf(v *checker.Violation) place {
	p := place{At: micro(v.At), What: clip(v.Property, 40), Text: clip(v.Text, 240)}
	from, to := v.At, v.At
	if v.To > v.From && v.From > 0 {
		p.From, p.To = micro(v.From), micro(v.To)
		from, to = min(from, v.From), max(to, v.To)
	}
	if _, _, both := overlap(v); both && bothActed(v) {
		p.Word = "two holders"
	} else if both {
		p.Word = "given to two"
	}
	acts := []int64{v.At}
	for _, id := range v.Ops {
		if o := r.ops[id]; o != nil {
			from, to = min(from, o.start), max(to, o.atStore())
			acts = append(acts, o.atStore())
		}
	}
	if v.A != nil {
		p.A = v.A.Grant
		if c := r.h.Header.Claims; v.A.Promise > 0 && c.Validity != "session" && !c.NoExpiry {
			p.Lease = micro(v.A.Promise)
		}
		if g := r.byGrant[v.A.Grant]; g != nil {
			from = min(from, g.end)
		}
	}
	if v.B != nil {
		p.B = v.B.Grant
	}
	air := max((to-from)/8, 20e6)
	from, to = max(from-air, 0), min(to+air, r.end)
	p.Story = [2]int64{micro(from), micro(to)}
	p.View = p.Story
	if lo, hi, ok := r.closeUp(v.From, v.To, acts, from, to); ok {
		p.View = [2]int64{micro(lo), micro(hi)}
	}
	return p
}

// beginning returns a window on the start of the workload that shows about a dozen grants.
func (r *record) beginning() (from, to int64) {
	from = r.start()
	to = r.end
	for i, g := range r.grants {
		if i == 14 {
			to = g.end
			break
		}
	}
	return from, max(min(to, r.end), from+50e6)
}
