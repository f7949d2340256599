package draw

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// The most points that a scatter shows. Beyond it the slowest are kept, and an
// even sample of the others.
const (
	latencyPoints  = 1500
	latencySlowest = 300
)

// Latency draws how long successful acquires took, over the run, on a
// logarithmic scale, with the faults as bands.
func Latency(r *reports.Record) (drawing template.HTML, shown, all int) {
	var ops []*history.Op
	for _, o := range r.Ops {
		if o.Kind == history.Acquire && o.Outcome == history.OK && o.End > o.Start {
			ops = append(ops, o)
		}
	}
	all = len(ops)
	if all == 0 {
		return "", 0, 0
	}
	ops = thin(ops)
	lo, hi := math.Inf(1), 0.0
	for _, o := range ops {
		ms := float64(o.End-o.Start) / 1e6
		lo, hi = min(lo, ms), max(hi, ms)
	}
	first, last := math.Floor(math.Log10(lo)), math.Ceil(math.Log10(hi))
	if last <= first {
		last = first + 1
	}
	d := &svg{w: 540, h: 190}
	s := scale{0, max(r.End, 1), 58, 528}
	top, bottom := 12.0, 158.0
	y := func(ms float64) float64 { return bottom - (bottom-top)*(math.Log10(ms)-first)/(last-first) }
	latencyFaults(r, d, s, top, bottom)
	s.axis(d, top, bottom, r.Labels)
	for e := first; e <= last; e++ {
		v := math.Pow(10, e)
		d.line(s.x0, y(v), s.x1, y(v), "gridline")
		d.text(50, y(v)+4, "end", "m t", phrase.Span(int64(math.Round(v*1e6))))
	}
	var b strings.Builder
	for _, o := range ops {
		fmt.Fprintf(&b, "M%s %sh0", num(s.x(o.Start)), num(y(float64(o.End-o.Start)/1e6)))
	}
	d.path(b.String(), "points", "")
	label := fmt.Sprintf("Latency of %s over the run, from %s to %s.", phrase.Plural(all, "successful acquire"),
		phrase.Span(int64(lo*1e6)), phrase.Span(int64(hi*1e6)))
	return d.done(label, "chart"), len(ops), all
}

func latencyFaults(r *reports.Record, d *svg, s scale, top, bottom float64) {
	var b strings.Builder
	for _, f := range r.Faults {
		if f.Injected {
			x0, x1 := s.clamp(f.From), s.clamp(f.To)
			fmt.Fprintf(&b, "M%s %sH%sV%sH%sz", num(x0), num(top), num(max(x1, x0+1)), num(bottom), num(x0))
		}
	}
	if b.Len() > 0 {
		d.path(b.String(), "fault", "a fault is on")
	}
}

// thin keeps the slowest acquires and every n-th of the others, in order of time.
func thin(ops []*history.Op) []*history.Op {
	if len(ops) <= latencyPoints {
		return ops
	}
	bySlow := slices.Clone(ops)
	slices.SortStableFunc(bySlow, func(a, b *history.Op) int { return cmp.Compare(b.End-b.Start, a.End-a.Start) })
	limit := bySlow[latencySlowest-1].End - bySlow[latencySlowest-1].Start
	stride := len(ops)/(latencyPoints-latencySlowest) + 1
	var out []*history.Op
	for i, o := range ops {
		if (o.End-o.Start >= limit && len(out) < 2*latencyPoints) || i%stride == 0 {
			out = append(out, o)
		}
	}
	return out
}
