package draw

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// The measures of the plot of clocks, and the most that a page shows of it.
const (
	clockStep   = 62.0 // from one lane to the next
	clockHeight = 34.0 // of the curve in it
	clockGutter = 92.0
	clockLanes  = 12
	clockRows   = 200
)

// clockQuiet is what a reading may be off without being wrong: the true clock
// is read a moment later.
const clockQuiet = int64(1e6)

// ClockPart is what a page tells of clocks.
type ClockPart struct {
	Drawing Drawings
	Left    string // what was left out of the drawing
	Rows    []clockRow
	More    string
}

// clockRow is one reading, at a step of a fault.
type clockRow struct{ At, Host, Process, Step, Wall, Mono string }

// clockPoint is one reading of one clock.
type clockPoint struct {
	at, off int64
	step    string
	strobe  bool // of a fault that jumps to and fro
}

// clockLane is one clock of one host, as its processes showed it.
type clockLane struct {
	host, clock string
	curves      map[int][]clockPoint // by process
	lo, hi      int64
}

// Clocks plots how far the clocks of the hosts that faults struck were from
// true time, and lists the readings.
func Clocks(r *reports.Record) (p ClockPart) {
	lanes := lanesOfClocks(r)
	if len(lanes) == 0 {
		return p
	}
	if more := len(lanes) - clockLanes; more > 0 {
		p.Left = phrase.Plural(more, "more clock") + " not drawn."
		lanes = lanes[:clockLanes]
	}
	p.Drawing = Drawings{drawClocks(r, lanes, lineWidth, "wide"), drawClocks(r, lanes, slimWidth, "slim")}
	for _, f := range r.Faults {
		for _, c := range f.Clocks {
			if c.Step == "" {
				continue
			}
			if len(p.Rows) == clockRows {
				p.More = "More are in history.jsonl."
				break
			}
			p.Rows = append(p.Rows, clockRow{phrase.At(c.At), phrase.Clip(c.Host, 40), phrase.Itoa(int64(c.PID)),
				phrase.Clip(c.Step, 20), offset(c.Wall), offset(c.Mono)})
		}
	}
	return p
}

// lanesOfClocks sorts the readings by host and clock, and keeps the clocks that were wrong.
func lanesOfClocks(r *reports.Record) (lanes []*clockLane) {
	lane := func(host, clock string) *clockLane {
		if i := slices.IndexFunc(lanes, func(l *clockLane) bool { return l.host == host && l.clock == clock }); i >= 0 {
			return lanes[i]
		}
		lanes = append(lanes, &clockLane{host: host, clock: clock, curves: map[int][]clockPoint{}})
		return lanes[len(lanes)-1]
	}
	for _, f := range r.Faults {
		for _, c := range f.Clocks {
			strobe := f.Touches().Strobes
			lane(c.Host, "wall clock").add(c, c.Wall, strobe)
			lane(c.Host, "monotonic clock").add(c, c.Mono, strobe)
		}
	}
	lanes = slices.DeleteFunc(lanes, func(l *clockLane) bool { return l.hi < clockQuiet && l.lo > -clockQuiet })
	slices.SortStableFunc(lanes, func(a, b *clockLane) int { return strings.Compare(a.host, b.host) })
	for _, l := range lanes {
		for _, c := range l.curves {
			slices.SortStableFunc(c, func(a, b clockPoint) int { return cmp.Compare(a.at, b.at) })
		}
	}
	return lanes
}

func (l *clockLane) add(c history.ClockReading, off int64, strobe bool) {
	l.curves[c.PID] = append(l.curves[c.PID], clockPoint{c.At, off, c.Step, strobe})
	l.lo, l.hi = min(l.lo, off), max(l.hi, off)
}

// drawClocks draws a lane for each clock, one below the other, each to its own measure.
func drawClocks(r *reports.Record, lanes []*clockLane, width float64, class string) template.HTML {
	d := &svg{w: width, h: clockStep*float64(len(lanes)) + 26}
	s := scale{0, max(r.End, 1), clockGutter, width - 14}
	s.axis(d, 4, d.h-22, r.Labels)
	var told []string
	for i, l := range lanes {
		top := clockStep*float64(i) + 20
		clockBands(r, d, s, l.host, top)
		d.text(s.x0, top-6, "start", "small halo", phrase.Clip(l.host, 24)+", "+l.clock)
		l.draw(d, s, top)
		told = append(told, fmt.Sprintf("the %s of %s from %s to %s", l.clock, phrase.Clip(l.host, 40), offset(l.lo),
			offset(l.hi)))
	}
	return d.done("How far clocks were from true time over the run: "+phrase.List(told)+".", class)
}

// draw draws the curve of each process.
func (l *clockLane) draw(d *svg, s scale, top float64) {
	y := func(off int64) float64 { return top + clockHeight*float64(l.hi-off)/float64(max(l.hi-l.lo, 1)) }
	d.line(s.x0, y(0), s.x1, y(0), "gridline")
	label := func(off int64) { d.text(s.x0-8, y(off)+4, "end", "m t", offset(off)) }
	label(0)
	if l.hi >= clockQuiet {
		label(l.hi)
	}
	if l.lo <= -clockQuiet {
		label(l.lo)
	}
	for _, pid := range slices.Sorted(maps.Keys(l.curves)) {
		d.path(clockPath(l.curves[pid], s, y), "clockline",
			fmt.Sprintf("%s of process %d on %s", l.clock, pid, phrase.Clip(l.host, 40)))
	}
}

// clockPath joins readings: those inside a fault by straight lines, for between
// two looks a clock runs evenly; all others, and those of a strobe, by steps.
func clockPath(points []clockPoint, s scale, y func(int64) float64) string {
	var b strings.Builder
	for i, p := range points {
		x, h := num(s.clamp(p.at)), num(y(p.off))
		switch {
		case i == 0:
			fmt.Fprintf(&b, "M%s %s", x, h)
		case p.strobe || p.step == "before" || p.step == "begin" || p.step == "healed":
			fmt.Fprintf(&b, "H%sV%s", x, h)
		default:
			fmt.Fprintf(&b, "L%s %s", x, h)
		}
	}
	return b.String()
}

// clockBands shades the times in which a fault had the host's clocks in its grip.
func clockBands(r *reports.Record, d *svg, s scale, host string, top float64) {
	for _, f := range r.Faults {
		if slices.ContainsFunc(f.Clocks, func(c history.ClockReading) bool { return c.Host == host }) {
			x0, x1 := s.clamp(f.From), s.clamp(f.To)
			d.rect(x0, top-3, max(x1-x0, 1), clockHeight+6, 2, "fault",
				phrase.Clip(f.Kind, phrase.MostName)+" "+phrase.Span(f.To-f.From))
		}
	}
}

// offset writes how far a clock is ahead (+) or behind (−).
func offset(ns int64) string {
	sign := "+"
	if ns < 0 {
		sign, ns = "−", -ns
	}
	switch {
	case ns < clockQuiet:
		return "0"
	case ns >= 48*3600e9:
		return fmt.Sprintf("%s%d d", sign, (ns+12*3600e9)/(24*3600e9))
	case ns >= 3600e9-5e8:
		h, m := (ns+30e9)/3600e9, (ns+30e9)/60e9%60
		if m == 0 {
			return fmt.Sprintf("%s%d h", sign, h)
		}
		return fmt.Sprintf("%s%d h %d min", sign, h, m)
	}
	return sign + phrase.Span(ns)
}
