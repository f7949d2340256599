package reports

import (
	"cmp"
	"slices"
	"sort"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// densityBuckets is into how many parts the run is divided for what is not shown op by op.
const densityBuckets = 1200

// density is how busy the parts of a run were.
type density struct {
	// Held says for each client and part how much of it the client held a lock, in tenths: a digit for each part.
	Held []string `json:"held"`
	// Accepted counts for each part the writes that the store took.
	Accepted []int `json:"accepted"`
}

// stretch is an interval of time (ns), ends included.
type stretch struct{ from, to int64 }

// detail chooses what is shown op by op: all where that fits, else what lies around violations, then around faults, then the beginning. It returns
// whether [from, to] touches it.
func (r *record) detail(x *explorer, shown timeline, jumps []*checker.Violation) func(from, to int64) bool {
	if len(r.order) <= exploreOps {
		return func(int64, int64) bool { return true }
	}
	starts := make([]int64, 0, len(r.order))
	for _, o := range r.order {
		starts = append(starts, o.start)
	}
	slices.Sort(starts)
	from, to := r.beginning()
	wanted := []stretch{fit(starts, stretch{shown.from, shown.to})}
	for _, v := range byProperty(jumps) {
		lo, hi := v.At, v.At
		if v.To > v.From && v.From > 0 {
			lo, hi = min(lo, v.From), max(hi, v.To)
		}
		air := max((hi-lo)/4, 60e6)
		wanted = append(wanted, stretch{lo - air, hi + air})
	}
	for _, f := range r.faults {
		wanted = append(wanted, stretch{f.From - 60e6, f.To + 60e6})
	}
	wanted = append(wanted, fit(starts, stretch{from, to}))
	var chosen []stretch
	for _, w := range wanted {
		if more := union(chosen, w); opsIn(starts, more) <= exploreOps {
			chosen = more
		}
	}
	for _, c := range chosen {
		x.Detail = append(x.Detail, [2]int64{micro(max(c.from, 0)), micro(min(c.to, r.end))})
	}
	return func(from, to int64) bool {
		return slices.ContainsFunc(chosen, func(c stretch) bool { return from <= c.to && to >= c.from })
	}
}

// byProperty takes the first violation of every property, then the second of every one, and so on.
func byProperty(jumps []*checker.Violation) []*checker.Violation {
	place := map[*checker.Violation]int{}
	seen := map[string]int{}
	for _, v := range jumps {
		place[v] = seen[v.Property]
		seen[v.Property]++
	}
	out := slices.Clone(jumps)
	slices.SortStableFunc(out, func(a, b *checker.Violation) int { return place[a] - place[b] })
	return out
}

// fit halves a stretch around its middle until it holds no more ops than may be shown.
func fit(starts []int64, s stretch) stretch {
	for opsIn(starts, []stretch{s}) > exploreOps/2 && s.to-s.from > 1 {
		quarter := (s.to - s.from) / 4
		s = stretch{s.from + quarter, s.to - quarter}
	}
	return s
}

// opsIn counts the ops that begin in the stretches, which are apart from each other.
func opsIn(starts []int64, all []stretch) int {
	n := 0
	for _, s := range all {
		lo := sort.Search(len(starts), func(i int) bool { return starts[i] >= s.from })
		hi := sort.Search(len(starts), func(i int) bool { return starts[i] > s.to })
		n += max(hi-lo, 0)
	}
	return n
}

// union adds a stretch to others that are in order and apart, and returns them so.
func union(all []stretch, s stretch) []stretch {
	var out []stretch
	for _, x := range all {
		if x.to < s.from || x.from > s.to {
			out = append(out, x)
			continue
		}
		s = stretch{min(s.from, x.from), max(s.to, x.to)}
	}
	out = append(out, s)
	slices.SortFunc(out, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	return out
}

// fill writes down the holds, waits, marks and writes that touch the detail, in order of time, and how busy the rest was.
func (r *record) fill(x *explorer, lanes *laneSet, inside func(from, to int64) bool) {
	special := 0
	for _, o := range r.byStart() {
		lane, ok := lanes.clients[o.client]
		end := o.end
		if o.how == history.TypeNone {
			end = r.end
		}
		matters := o.kind == history.Write && (r.harmful(o) || o.refused || o.conflict)
		in := inside(o.start, max(end, o.atStore()))
		if !ok || !in && (!matters || special >= exploreSpecial) {
			continue
		}
		if !in {
			special++
		}
		switch o.kind {
		case history.Acquire:
			x.Waits.row(o.start, micro(end)-micro(o.start), int64(lane), int64(o.key), waitHow(o))
		case history.Write:
			if !o.declined {
				x.Writes.row(o.start, int64(lane), micro(o.atStore())-micro(o.start), r.writeHow(o), o.grant, o.version)
			}
		case history.Read, history.Renew, history.Release:
			if !o.declined {
				x.Marks.row(o.start, int64(lane), markWhat(o.kind), markHow(o), o.grant)
			}
		}
	}
	r.fillHolds(x, lanes, inside)
	if x.Detail != nil {
		x.Density = r.density(lanes, x.Clients)
	}
}

// byStart orders the ops by the worker's stamps.
func (r *record) byStart() []*op {
	out := slices.Clone(r.order)
	slices.SortStableFunc(out, func(a, b *op) int { return cmp.Compare(a.start, b.start) })
	return out
}

func (r *record) fillHolds(x *explorer, lanes *laneSet, inside func(from, to int64) bool) {
	for _, g := range r.grants {
		end := max(g.last, g.end)
		lane, ok := lanes.clients[g.client]
		if !ok || !inside(g.end, end) {
			continue
		}
		x.Holds.row(g.end, micro(end)-micro(g.end), int64(lane), int64(g.key), g.id, g.token)
		for _, e := range g.lost {
			x.Marks.row(e.Time, int64(lane), markLost, 0, g.id)
		}
	}
}

func waitHow(o *op) int64 {
	switch {
	case o.how == history.OK:
		return 0
	case o.busy:
		return 1
	case o.how == history.Fail:
		return 2
	}
	return 3
}

// markLost is a mark where a client was told that its hold is lost.
const markLost = 3

func markWhat(k history.Kind) int64 {
	switch k {
	case history.Renew:
		return 1
	case history.Release:
		return 2
	}
	return 0
}

func markHow(o *op) int64 {
	switch o.how {
	case history.OK:
		return 0
	case history.Fail:
		return 1
	}
	return 2
}

// writeHow says what became of a write: 0 accepted, 1 refused, 2 accepted though stale, 3 accepted over a version that was not read, 4 refused since
// the store had another version, 5 not known to have arrived.
func (r *record) writeHow(o *op) int64 {
	switch {
	case o.conflict:
		return 4
	case o.refused:
		return 1
	case r.stale[o.id]:
		return 2
	case r.lossy[o.id]:
		return 3
	case o.accepted():
		return 0
	}
	return 5
}

// density measures how busy the parts of the run were.
func (r *record) density(lanes *laneSet, clients int) *density {
	d := &density{Accepted: make([]int, densityBuckets)}
	width := max(float64(r.end)/densityBuckets, 1)
	part := func(ns int64) int { return min(max(int(float64(ns)/width), 0), densityBuckets-1) }
	held := make([][]float64, clients)
	for i := range held {
		held[i] = make([]float64, densityBuckets)
	}
	for _, g := range r.grants {
		lane, ok := lanes.clients[g.client]
		if !ok {
			continue
		}
		from, to := float64(g.end), float64(max(g.last, g.end))
		for i := part(g.end); i <= part(int64(to)); i++ {
			held[lane][i] += max(min(to, float64(i+1)*width)-max(from, float64(i)*width), 0)
		}
	}
	for _, h := range held {
		digits := make([]byte, densityBuckets)
		for i, ns := range h {
			tenths := min(int(ns/width*9.999), 9)
			if tenths == 0 && ns > 0 {
				tenths = 1
			}
			digits[i] = byte('0' + tenths)
		}
		d.Held = append(d.Held, string(digits))
	}
	for _, o := range r.ledger {
		if o.accepted() {
			d.Accepted[part(o.atStore())]++
		}
	}
	return d
}
