// Package draw makes the pictures of a report: timelines, sequences, clocks, and curves,
// as SVG that needs no script, and as the data that the explorer's script draws from.
package draw

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/reports"
)

// svg builds one drawing. Colours come from the page's style sheet through
// classes, so that a drawing follows light and dark.
type svg struct {
	b    strings.Builder
	w, h float64
	data string // attributes for a script
}

// num writes a coordinate with one decimal: a tenth of a pixel is finer than
// any eye, and keeps pages small.
func num(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

func (s *svg) rect(x, y, w, h, radius float64, class, title string) {
	fmt.Fprintf(&s.b, `<rect x="%s" y="%s" width="%s" height="%s" rx="%s" class="%s"`, num(x), num(y), num(max(w, 0.5)),
		num(h), num(radius), class)
	s.close("rect", title)
}

func (s *svg) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&s.b, `<line x1="%s" y1="%s" x2="%s" y2="%s" class="%s"/>`, num(x1), num(y1), num(x2), num(y2), class)
}

func (s *svg) circle(x, y, r float64, class, title string) {
	fmt.Fprintf(&s.b, `<circle cx="%s" cy="%s" r="%s" class="%s"`, num(x), num(y), num(r), class)
	s.close("circle", title)
}

func (s *svg) path(d, class, title string) {
	fmt.Fprintf(&s.b, `<path d="%s" class="%s"`, d, class)
	s.close("path", title)
}

// close ends an element, with a title for those who point at it.
func (s *svg) close(tag, title string) {
	if title == "" {
		s.b.WriteString("/>")
		return
	}
	fmt.Fprintf(&s.b, "><title>%s</title></%s>", template.HTMLEscapeString(title), tag)
}

// text writes one line; anchor is "start", "middle" or "end".
func (s *svg) text(x, y float64, anchor, class, text string) {
	fmt.Fprintf(&s.b, `<text x="%s" y="%s"`, num(x), num(y))
	if anchor != "start" {
		fmt.Fprintf(&s.b, ` text-anchor="%s"`, anchor)
	}
	if class != "" {
		fmt.Fprintf(&s.b, ` class="%s"`, class)
	}
	fmt.Fprintf(&s.b, ">%s</text>", template.HTMLEscapeString(text))
}

// done returns the drawing with its accessible name. It takes the width that it
// is given; the class says on which screens it is shown.
func (s *svg) done(label, class string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %s %s" role="img" aria-label="%s" class="%s"%s>%s</svg>`,
		num(s.w), num(s.h), template.HTMLEscapeString(label), class, s.data, s.b.String()))
}

// scale maps an interval of time onto pixels.
type scale struct {
	from, to int64
	x0, x1   float64
}

func (s scale) x(ns int64) float64 {
	if s.to <= s.from {
		return s.x0
	}
	return s.x0 + (s.x1-s.x0)*float64(ns-s.from)/float64(s.to-s.from)
}

// clamp maps an instant, moving one outside onto the edge.
func (s scale) clamp(ns int64) float64 { return s.x(min(max(ns, s.from), s.to)) }

// overlaps reports whether any of [from, to] is in sight.
func (s scale) overlaps(from, to int64) bool { return from <= s.to && to >= s.from }

// axis draws labelled gridlines at round instants, about one in every 90 pixels.
func (s scale) axis(d *svg, top, bottom float64, said reports.Labels) {
	step := roundStep(math.Floor((float64(s.to) - float64(s.from)) / max(math.Floor((s.x1-s.x0)/90), 2)))
	decimals := 0
	for unit := int64(1e9); decimals < 6 && step%unit != 0; unit /= 10 {
		decimals++
	}
	first := s.from / step * step
	if first < s.from {
		first += step
	}
	for t := first; t >= s.from && t <= s.to; t += step {
		x := s.x(t)
		d.line(x, top, x, bottom, "gridline")
		anchor := "middle"
		if x > s.x1-16 {
			anchor = "end"
		}
		d.text(x, bottom+16, anchor, "m t", said.Tick(t, decimals))
		if t > s.to-step {
			return // behind the greatest number comes the least
		}
	}
}

// roundStep returns the least of 1, 2, 5, 10, 20 … µs that is not below ns, up to 32 years.
func roundStep(ns float64) int64 {
	for unit := int64(1e3); unit < 1e18; unit *= 10 {
		for _, m := range []int64{1, 2, 5} {
			if float64(unit*m) >= ns {
				return unit * m
			}
		}
	}
	return 1e18
}
