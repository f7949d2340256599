package reports

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

const overviewStep = 16.0

// overviews draws the overview for wide and for narrow screens.
func (r *record) overviews(v checker.Verdict, shown timeline) drawings {
	return drawings{r.overview(v, shown, lineWidth, lineLeft, "wide"), r.overview(v, shown, slimWidth, slimLeft, "slim")}
}

// workers lists the workload's clients, as many as there are lanes for. Those that only probe at the end would be empty lanes.
func (r *record) workers() []int32 {
	out := slices.DeleteFunc(slices.Clone(r.clients), r.probes)
	return out[:min(len(out), lineLanes)]
}

// overview draws the whole run small: who held when, the faults, and below what became of the writes. Its size does not
// depend on the length of the run, for what falls on one pixel is drawn once.
func (r *record) overview(v checker.Verdict, shown timeline, width, left float64, class string) template.HTML {
	clients := r.workers()
	s := scale{0, max(r.end, 1), left, width - 14}
	top := 22.0
	lanes := len(clients) + 1
	served := slices.ContainsFunc(r.faults, func(f *fault) bool { return f.Service })
	if served {
		lanes++
	}
	bottom := top + overviewStep*float64(lanes)
	d := &svg{w: width, h: bottom + 22}
	s.axis(d, top-4, bottom, r.voice)
	for i, c := range clients {
		y := top + overviewStep*float64(i)
		d.text(0, y+10, "start", "small", r.laneName(c, left))
		d.path(r.heldPath(s, c, y), "holdline", "")
		r.overviewFaults(d, s, y, r.client(c), func(f *fault) bool { return slices.Contains(f.struck(), c) })
	}
	if served {
		y := top + overviewStep*float64(len(clients))
		d.text(0, y+10, "start", "small", cut(r.h.Header.Service, 12))
		r.overviewFaults(d, s, y, "the lock service", func(f *fault) bool { return f.Service })
	}
	y := bottom - overviewStep + 8
	d.text(0, y+3, "start", "small", "store")
	r.overviewFaults(d, s, y-6, "links to the store", func(f *fault) bool { return f.Store })
	okPath, stalePath, refusedPath := r.writePaths(s, y)
	d.path(okPath, "okline", "")
	d.path(refusedPath, "refusedline", "")
	d.path(stalePath, "staleline", "")
	if p := overlapTicks(v, s, top-6); p != "" {
		d.path(p, "badtick", "double-holds")
	}
	if shown.to > shown.from {
		x0, x1 := s.clamp(shown.from), s.clamp(shown.to)
		d.rect(x0, top-5, max(x1-x0, 3), bottom-top+7, 3, "shown", "the part shown above")
	}
	d.data = fmt.Sprintf(` data-x0="%s" data-x1="%s"`, num(s.x0), num(s.x1))
	return d.done(fmt.Sprintf("The whole run, %s: holds of every client, faults, and writes.", span(r.end)), class+" map")
}

// heldPath joins the holds of a client into one path; bars that touch on the same half pixel are merged.
func (r *record) heldPath(s scale, c int32, y float64) string {
	var b strings.Builder
	open, x0, x1 := false, 0.0, 0.0
	flush := func() {
		if open {
			fmt.Fprintf(&b, "M%s %sH%s", num(x0), num(y+6), num(max(x1, x0+0.6)))
		}
	}
	for _, g := range r.grants {
		if g.client != c {
			continue
		}
		a, z := s.clamp(g.end), s.clamp(max(g.last, g.end))
		if open && a <= x1+0.5 {
			x1 = max(x1, z)
			continue
		}
		flush()
		open, x0, x1 = true, a, z
	}
	flush()
	return b.String()
}

// overviewFaults draws the bands of those faults that lie on a lane, in one path.
func (r *record) overviewFaults(d *svg, s scale, y float64, whose string, on func(*fault) bool) {
	var injected, noticed strings.Builder
	for _, f := range r.faults {
		if !on(f) {
			continue
		}
		b := &injected
		if !f.Injected {
			b = &noticed
		}
		x0, x1 := s.clamp(f.From), s.clamp(f.To)
		fmt.Fprintf(b, "M%s %sH%s", num(x0), num(y+6), num(max(x1, x0+1)))
	}
	if injected.Len() > 0 {
		d.path(injected.String(), "faultline", "faults on "+whose)
	}
	if noticed.Len() > 0 {
		d.path(noticed.String(), "faultline stall", "stalls of "+whose)
	}
}

// writePaths returns ticks for accepted, stale and refused writes. Accepted ones on one pixel are drawn once.
func (r *record) writePaths(s scale, y float64) (ok, stale, refused string) {
	var o, st, re strings.Builder
	last := -1.0
	for _, w := range r.order {
		if w.kind != history.Write || w.declined {
			continue
		}
		x := s.clamp(w.atStore())
		switch {
		case r.stale[w.id]:
			fmt.Fprintf(&st, "M%s %sv14", num(x), num(y-7))
		case w.refused:
			fmt.Fprintf(&re, "M%s %sv14", num(x), num(y-7))
		case w.accepted() && x-last >= 1:
			fmt.Fprintf(&o, "M%s %sv6", num(x), num(y-3))
			last = x
		}
	}
	return o.String(), st.String(), re.String()
}

// overlapTicks marks where the double-holds begin.
func overlapTicks(v checker.Verdict, s scale, y float64) string {
	var b strings.Builder
	for _, p := range v.Properties {
		if p.Name != checker.MutualExclusion {
			continue
		}
		for _, x := range p.Violations {
			fmt.Fprintf(&b, "M%s %sl-4 -7h8z", num(s.clamp(x.At)), num(y))
		}
	}
	return b.String()
}
