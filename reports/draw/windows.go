package draw

import (
	"cmp"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/story"
)

// Around returns the window that shows a story with some air on both sides.
func Around(r *reports.Record, t *story.Story) (from, to int64) {
	from, to = r.End, 0
	for _, m := range t.Moments {
		from, to = min(from, m.At), max(to, m.At)
	}
	if len(t.Moments) == 0 {
		from, to = t.Violation.From, max(t.Violation.From, t.Violation.To, t.Violation.At)
	}
	if t.A != nil {
		from = min(from, t.A.End)
	}
	air := max((to-from)/8, 60e6)
	return max(from-air, 0), min(to+air, max(r.End, to))
}

// closeUpShare is how many times a window may be as long as the overlap that it
// is to show. On a screen the overlap is then wide enough to see who held and
// who wrote; a story that is not longer needs no close up.
const closeUpShare = 6

// closeUp returns a window on the time [lo, hi] for which a violation lasted, inside
// [from, to]: with the acts beside it, the nearest first, as far as they leave it
// wide enough. There is none where the whole of [from, to] shows it as well.
func closeUp(r *reports.Record, lo, hi int64, acts []int64, from, to int64) (_, _ int64, ok bool) {
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

// CloseUpOf returns a close up of a story.
func CloseUpOf(r *reports.Record, t *story.Story, from, to int64) (lo, hi int64, ok bool) {
	if !t.Rivals() {
		return 0, 0, false
	}
	lo, hi = t.B.End, t.B.LastAct
	if t.Violation.From > 0 && t.Violation.To > t.Violation.From {
		lo, hi = t.Violation.From, t.Violation.To
	}
	acts := []int64{t.B.End, t.B.LastAct, t.ActsAgain()}
	for _, o := range slices.Concat(t.Stale, t.Refused, t.B.Ops) {
		acts = append(acts, o.AtStore())
	}
	return closeUp(r, lo, hi, acts, from, to)
}

// placeOf says where a violation lies, with some air around it.
func placeOf(r *reports.Record, v *checker.Violation) Place {
	p := Place{At: phrase.Micro(v.At), What: phrase.Clip(v.Property, 40), Text: phrase.Clip(v.Text, 240)}
	from, to := v.At, v.At
	if v.To > v.From && v.From > 0 {
		p.From, p.To = phrase.Micro(v.From), phrase.Micro(v.To)
		from, to = min(from, v.From), max(to, v.To)
	}
	p.Label = labelOf(v, p.What)
	acts := []int64{v.At}
	for _, id := range v.Ops {
		if o := r.Op(id); o != nil {
			from, to = min(from, o.Start), max(to, o.AtStore())
			acts = append(acts, o.AtStore())
		}
	}
	if v.A != nil {
		p.A = v.A.Grant
		if c := r.History.Header.Claims; v.A.Promise > 0 && c.Validity != "session" && !c.NoExpiry {
			p.Lease = phrase.Micro(v.A.Promise)
		}
		if g := r.Grant(v.A.Grant); g != nil {
			from = min(from, g.End)
		}
	}
	if v.B != nil {
		p.B = v.B.Grant
	}
	air := max((to-from)/8, 20e6)
	from, to = max(from-air, 0), min(to+air, r.End)
	p.Story = [2]int64{phrase.Micro(from), phrase.Micro(to)}
	p.View = p.Story
	if lo, hi, ok := closeUp(r, v.From, v.To, acts, from, to); ok {
		p.View = [2]int64{phrase.Micro(lo), phrase.Micro(hi)}
	}
	return p
}

// labelOf names a violation that lasted, and what two clients had meanwhile.
func labelOf(v *checker.Violation, what string) string {
	if v.To <= v.From || v.From <= 0 {
		return what
	}
	meanwhile := ""
	if _, _, both := reports.Overlap(v); both {
		meanwhile = "two holders of " + phrase.Cut(v.Key, 12) + ", "
		if !reports.BothActed(v) {
			meanwhile = phrase.Cut(v.Key, 12) + " given to two, "
		}
	}
	return what + ": " + meanwhile + phrase.Span(v.To-v.From)
}

// Beginning returns a window on the start of the workload that shows about a dozen grants.
func Beginning(r *reports.Record) (from, to int64) {
	from = r.RunStart()
	to = r.End
	for i, g := range r.Grants {
		if i == 14 {
			to = g.End
			break
		}
	}
	return from, max(min(to, r.End), from+50e6)
}
