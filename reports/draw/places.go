package draw

import (
	"fmt"
	"html/template"
	"slices"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/studies"
)

// markClasses are the styles of what a schedule came to at a place, the worst first.
var markClasses = []struct {
	fate  reports.Fate
	class string
}{{reports.FellDefect, "dot"}, {reports.FellUnclear, "stalering"}, {reports.FellRelied, "refusedring"},
	{reports.FellInherent, "unknowndot"}, {reports.NothingFollows, "dotaside"}}

// stepClass is the style of a step of a client.
func stepClass(step string) string {
	switch step {
	case "waiting", "asking", "giving up":
		return "dim"
	case "resting":
		return ""
	}
	return "hold2"
}

// Places draws the undisturbed run of a complete search: a lane for each host with the steps of
// clients, and above it a mark for each place at which a schedule fell. A mark leads to the page of
// the first that fell so. href makes a link of a folder; "": there is no page.
func Places(c studies.Complete, width float64, class string, href func(dir string) string) template.HTML {
	const lane, left = 64, 92
	hosts := hostLanes(c)
	d := &svg{w: width, h: float64(len(hosts))*lane + 34}
	sc := scale{0, int64(c.Length), left, width - 16}
	for i, host := range hosts {
		y := float64(i)*lane + 44
		d.text(left-10, y+4, "end", "small", host)
		d.line(left, y, width-16, y, "lifeline")
		for _, s := range c.Spans {
			if style := stepClass(s.Step); s.Host == host && style != "" {
				d.rect(sc.x(s.From), y-6, sc.x(s.To)-sc.x(s.From), 12, 2, style, s.Step)
			}
		}
	}
	for i := range markClasses {
		m := markClasses[len(markClasses)-1-i] // the worst lie on top
		for _, f := range c.Falls {
			if f.Fate != m.fate.String() {
				continue
			}
			for _, mark := range thinMarks(f.Marks, sc) {
				y := float64(slices.Index(hosts, mark.Host))*lane + 44
				title := fmt.Sprintf("%s: %s: %s", mark.Told(), f.Fate, phrase.Clip(f.What, phrase.MostText))
				to := href(f.Dir)
				if to != "" {
					fmt.Fprintf(&d.b, `<a href="%s">`, template.HTMLEscapeString(to))
				}
				d.circle(sc.x(mark.At), y-14-float64(6*(len(markClasses)-1-i)), 3, m.class, title)
				if to != "" {
					d.b.WriteString("</a>")
				}
			}
		}
	}
	for i := range 5 {
		at, anchor := int64(c.Length)*int64(i)/4, "middle"
		if i == 4 {
			anchor = "end" // of the picture, too
		}
		d.text(sc.x(at), d.h-6, anchor, "m t", phrase.Span(at))
	}
	return d.done("The undisturbed run, and where schedules fell. The table below has the figures.", class)
}

// hostLanes are the hosts that have a span or a mark, in the order of their names.
func hostLanes(c studies.Complete) (hosts []string) {
	for _, s := range c.Spans {
		hosts = append(hosts, s.Host)
	}
	for _, f := range c.Falls {
		for _, m := range f.Marks {
			hosts = append(hosts, m.Host)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// thinMarks leaves of marks on one host those that lie a pixel apart: thousands make no better
// picture.
func thinMarks(marks []studies.Mark, sc scale) (out []studies.Mark) {
	last := map[string]float64{}
	for _, m := range marks {
		x := sc.x(m.At)
		if before, drawn := last[m.Host]; drawn && x-before < 2 && x >= before {
			continue
		}
		last[m.Host] = x
		out = append(out, m)
	}
	return out
}
