package reports

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

// closeUp returns a narrower window, on the end of a story: B's hold and what A did once it was there. There is none when the whole
// story is short enough to be seen as it is.
func (r *record) closeUp(t *story, from, to int64) (lo, hi int64, ok bool) {
	if !t.rivals() {
		return 0, 0, false
	}
	lo, hi = t.b.end, t.b.last
	for _, o := range append(append([]*op(nil), t.stale...), t.refused...) {
		lo, hi = min(lo, o.start), max(hi, o.end)
	}
	air := closeAir(lo, hi)
	lo, hi = max(lo-air, from), min(hi+air, to)
	return lo, hi, (hi-lo)*closeUpShare < to-from
}

// closeUpShare is how many times a close up must fit into the story; a shorter story is seen as it is.
const closeUpShare = 4

// closeAir is the air on each side of a close up.
func closeAir(lo, hi int64) int64 { return max((hi-lo)/3, 15e6) }

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
