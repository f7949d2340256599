package reports

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/history"
)

// The most points that a scatter shows. Beyond it the slowest are kept, and an even sample of the others.
const (
	latencyPoints  = 1500
	latencySlowest = 300
)

// latency draws how long successful acquires took, over the run, on a logarithmic scale, with the faults as bands.
func (r *record) latency() (drawing template.HTML, shown, all int) {
	var ops []*op
	for _, o := range r.order {
		if o.kind == history.Acquire && o.how == history.OK && o.end > o.start {
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
		ms := float64(o.end-o.start) / 1e6
		lo, hi = min(lo, ms), max(hi, ms)
	}
	first, last := math.Floor(math.Log10(lo)), math.Ceil(math.Log10(hi))
	if last <= first {
		last = first + 1
	}
	d := &svg{w: 540, h: 190}
	s := scale{0, max(r.end, 1), 58, 528}
	top, bottom := 12.0, 158.0
	y := func(ms float64) float64 { return bottom - (bottom-top)*(math.Log10(ms)-first)/(last-first) }
	r.latencyFaults(d, s, top, bottom)
	s.axis(d, top, bottom, r.voice)
	for e := first; e <= last; e++ {
		v := math.Pow(10, e)
		d.line(s.x0, y(v), s.x1, y(v), "gridline")
		d.text(50, y(v)+4, "end", "m t", span(int64(math.Round(v*1e6))))
	}
	var b strings.Builder
	for _, o := range ops {
		fmt.Fprintf(&b, "M%s %sh0", num(s.x(o.start)), num(y(float64(o.end-o.start)/1e6)))
	}
	d.path(b.String(), "points", "")
	label := fmt.Sprintf("Latency of %s over the run, from %s to %s.", plural(all, "successful acquire"),
		span(int64(lo*1e6)), span(int64(hi*1e6)))
	return d.done(label, "chart"), len(ops), all
}

func (r *record) latencyFaults(d *svg, s scale, top, bottom float64) {
	var b strings.Builder
	for _, f := range r.faults {
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
func thin(ops []*op) []*op {
	if len(ops) <= latencyPoints {
		return ops
	}
	bySlow := slices.Clone(ops)
	slices.SortStableFunc(bySlow, func(a, b *op) int { return cmp.Compare(b.end-b.start, a.end-a.start) })
	limit := bySlow[latencySlowest-1].end - bySlow[latencySlowest-1].start
	stride := len(ops)/(latencyPoints-latencySlowest) + 1
	var out []*op
	for i, o := range ops {
		if (o.end-o.start >= limit && len(out) < 2*latencyPoints) || i%stride == 0 {
			out = append(out, o)
		}
	}
	return out
}
