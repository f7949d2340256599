package draw

import (
	"cmp"
	"slices"
	"sort"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// densityBuckets is into how many parts the run is divided for what is not shown op by op.
const densityBuckets = 1200

// Density is how busy the parts of a run were.
type Density struct {
	// Held says for each client and part how much of it the client held a lock,
	// in tenths: a digit for each part.
	Held []string `json:"held"`
	// Accepted counts for each part the writes that the store took.
	Accepted []int `json:"accepted"`
}

// stretch is an interval of time (ns), ends included.
type stretch struct{ from, to int64 }

// detail chooses what is shown op by op: all where that fits, else what lies around violations,
// then around faults, then the beginning. It returns whether [from, to] touches it.
func detail(r *reports.Record, x *Explorer, shown stretch, jumps []*checker.Violation) func(from, to int64) bool {
	if len(r.Ops) <= exploreOps {
		return func(int64, int64) bool { return true }
	}
	starts := make([]int64, 0, len(r.Ops))
	for _, o := range r.Ops {
		starts = append(starts, o.Start)
	}
	slices.Sort(starts)
	from, to := Beginning(r)
	wanted := []stretch{fit(starts, shown)}
	for _, v := range byProperty(jumps) {
		lo, hi := v.At, v.At
		if v.To > v.From && v.From > 0 {
			lo, hi = min(lo, v.From), max(hi, v.To)
		}
		air := max((hi-lo)/4, 60e6)
		wanted = append(wanted, stretch{lo - air, hi + air})
	}
	for _, f := range r.Faults {
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
		x.Detail = append(x.Detail, [2]int64{phrase.Micro(max(c.from, 0)), phrase.Micro(min(c.to, r.End))})
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

// fill writes down the holds, waits, marks and writes that touch the detail, in
// order of time, and how busy the rest was.
func fill(r *reports.Record, x *Explorer, lanes *laneSet, inside func(from, to int64) bool) {
	special := 0
	for _, o := range byStart(r) {
		lane, ok := lanes.clients[o.Client]
		end := o.End
		if o.Outcome == history.TypeNone {
			end = r.End
		}
		matters := o.Kind == history.Write && (r.Harmful(o) || o.Refused || o.Conflict)
		in := inside(o.Start, max(end, o.AtStore()))
		if !ok || !in && (!matters || special >= exploreSpecial) {
			continue
		}
		if !in {
			special++
		}
		x.op(r, o, lane, end)
	}
	fillHolds(r, x, lanes, inside)
	if x.Detail != nil {
		x.Density = density(r, lanes, x.Clients)
	}
}

// op writes an op down, which ended at end.
func (x *Explorer) op(r *reports.Record, o *history.Op, lane, end int64) {
	at := phrase.Micro(o.Start)
	switch {
	case o.Kind == history.Acquire:
		x.Waits = append(x.Waits, wait{at, phrase.Micro(end), lane, int64(o.Key), waitHow(o)})
	case o.Declined:
	case o.Kind == history.Write:
		x.Writes = append(x.Writes, write{at, phrase.Micro(o.AtStore()), lane, writeHow(r, o), o.Grant, o.Version})
	case o.Kind == history.Read, o.Kind == history.Renew, o.Kind == history.Release:
		x.Marks = append(x.Marks, mark{at, lane, markWhat(o.Kind), markHow(o), o.Grant})
	}
}

// byStart orders the ops by the worker's stamps.
func byStart(r *reports.Record) []*history.Op {
	out := slices.Clone(r.Ops)
	slices.SortStableFunc(out, func(a, b *history.Op) int { return cmp.Compare(a.Start, b.Start) })
	return out
}

func fillHolds(r *reports.Record, x *Explorer, lanes *laneSet, inside func(from, to int64) bool) {
	for _, g := range r.Grants {
		end := max(g.LastAct, g.End)
		lane, ok := lanes.clients[g.Client]
		if !ok || !inside(g.End, end) {
			continue
		}
		x.Holds = append(x.Holds, hold{phrase.Micro(g.End), phrase.Micro(end), lane, int64(g.Key), g.ID, tokenCell(g)})
		for _, e := range g.Lost {
			x.Marks = append(x.Marks, mark{phrase.Micro(e.Time), lane, markLost, 0, g.ID})
		}
	}
}

// density measures how busy the parts of the run were.
func density(r *reports.Record, lanes *laneSet, clients int64) *Density {
	d := &Density{Accepted: make([]int, densityBuckets)}
	width := max(float64(r.End)/densityBuckets, 1)
	part := func(ns int64) int { return min(max(int(float64(ns)/width), 0), densityBuckets-1) }
	held := make([][]float64, clients)
	for i := range held {
		held[i] = make([]float64, densityBuckets)
	}
	for _, g := range r.Grants {
		lane, ok := lanes.clients[g.Client]
		if !ok {
			continue
		}
		from, to := float64(g.End), float64(max(g.LastAct, g.End))
		for i := part(g.End); i <= part(int64(to)); i++ {
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
	for _, o := range r.Writes {
		if o.Accepted() {
			d.Accepted[part(o.AtStore())]++
		}
	}
	return d
}
