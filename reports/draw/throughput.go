package draw

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// throughputParts is into how many parts the run is divided to count what happened in each.
const throughputParts = 60

// ThroughputPart is what a page tells of how much was done when.
type ThroughputPart struct {
	Drawing template.HTML
	// Grants and Writes are means over the workload, a second.
	Grants, Writes string
}

// Throughput draws grants and accepted writes per second over the run, with the
// faults as bands: where a fault stops the work, the curve falls.
func Throughput(r *reports.Record) (p ThroughputPart) {
	end := workloadEnd(r)
	if len(r.Grants) == 0 || end <= 0 {
		return p
	}
	width := float64(end) / throughputParts
	var grants, writes [throughputParts]float64
	count := func(in *[throughputParts]float64, ns int64) bool {
		if ns > end {
			return false
		}
		in[min(int(float64(max(ns, 0))/width), throughputParts-1)] += 1e9 / width
		return true
	}
	granted, written := 0, 0
	for _, g := range r.Grants {
		if count(&grants, g.End) {
			granted++
		}
	}
	for _, o := range r.Writes {
		if o.Accepted() && count(&writes, o.AtStore()) {
			written++
		}
	}
	most := 0.0
	for i := range grants {
		most = max(most, grants[i], writes[i])
	}
	d := &svg{w: 540, h: 190}
	s := scale{0, max(r.End, 1), 58, 528}
	top, bottom := 12.0, 158.0
	step := roundRate(most / 3)
	y := func(v float64) float64 { return bottom - (bottom-top)*v/(step*math.Ceil(most/step)) }
	latencyFaults(r, d, s, top, bottom)
	s.axis(d, top, bottom, r.Labels)
	for v := 0.0; v <= most+step*0.999; v += step {
		d.line(s.x0, y(v), s.x1, y(v), "gridline")
		d.text(50, y(v)+4, "end", "m t", strconv.FormatFloat(v, 'f', -1, 64)+"/s")
	}
	d.path(stairs(grants[:], width, s, y)+fmt.Sprintf("V%sH%sz", num(bottom), num(s.x0)), "area", "grants per second")
	d.path(stairs(writes[:], width, s, y), "okcurve", "accepted writes per second")
	rate := func(n int) float64 { return float64(n) * 1e9 / float64(max(end-r.RunStart(), 1)) }
	p.Grants, p.Writes = perSecond(rate(granted)), perSecond(rate(written))
	p.Drawing = d.done(fmt.Sprintf("Throughput over the run: %s grants and %s accepted writes on average, at most %s in a part of %s.",
		p.Grants, p.Writes, perSecond(most), phrase.Span(int64(width))), "chart")
	return p
}

// workloadEnd is when the workload ended: what comes after it are probes.
func workloadEnd(r *reports.Record) int64 {
	for _, m := range r.Phases {
		if m.Text == history.PhaseProbe && m.Time > 0 {
			return m.Time
		}
	}
	return r.End
}

// stairs draws a value for each part of the run.
func stairs(values []float64, width float64, s scale, y func(float64) float64) string {
	var b strings.Builder
	for i, v := range values {
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&b, "%s%s %sH%s", command, num(s.x(int64(float64(i)*width))), num(y(v)),
			num(s.x(int64(float64(i+1)*width))))
	}
	return b.String()
}

// roundRate returns the least of 0.1, 0.2, 0.5, 1, 2, 5, 10 … that is not below v.
func roundRate(v float64) float64 {
	for unit := 0.1; ; unit *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if unit*m >= v || unit > 1e12 {
				return math.Round(unit*m*10) / 10
			}
		}
	}
}

// perSecond writes a rate with about three figures.
func perSecond(v float64) string {
	if v < 10 {
		return strconv.FormatFloat(v, 'f', 1, 64) + "/s"
	}
	return phrase.Grouped(int64(math.Round(v))) + "/s"
}
