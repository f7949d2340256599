package draw

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// The measures of what shows a whole run, in its own units.
const (
	lineWidth    = 1080.0
	slimWidth    = 470.0 // for narrow screens
	lineLeft     = 92.0
	slimLeft     = 62.0
	laneLetter   = 6.5 // the width of a letter of a lane's name
	lineLanes    = 14  // clients
	overviewStep = 16.0
)

// Overviews draws the overview for wide and for narrow screens.
func Overviews(r *reports.Record, v checker.Verdict, shown Timeline) Drawings {
	return Drawings{overview(r, v, shown, lineWidth, lineLeft, "wide"),
		overview(r, v, shown, slimWidth, slimLeft, "slim")}
}

// workers lists the workload's clients, as many as there are lanes for. Those
// that only probe at the end would be empty lanes.
func workers(r *reports.Record) []int32 {
	out := slices.DeleteFunc(slices.Clone(r.Clients), func(c int32) bool { return probes(r, c) })
	return out[:min(len(out), lineLanes)]
}

// probes tells a client beyond the workload's own: those only probe whether a key can be had.
func probes(r *reports.Record, c int32) bool {
	return r.History.Header.Clients > 0 && int(c) > r.History.Header.Clients
}

// overview draws the whole run small: who held when, the faults, and below what
// became of the writes. Its size does not depend on the length of the run, for
// what falls on one pixel is drawn once.
func overview(r *reports.Record, v checker.Verdict, shown Timeline, width, left float64, class string) template.HTML {
	clients := workers(r)
	s := scale{0, max(r.End, 1), left, width - 14}
	top := 22.0
	lanes := len(clients) + 1
	served := slices.ContainsFunc(r.Faults, func(f *history.FaultSpan) bool { return f.Service })
	if served {
		lanes++
	}
	bottom := top + overviewStep*float64(lanes)
	d := &svg{w: width, h: bottom + 22}
	s.axis(d, top-4, bottom, r.Labels)
	for i, c := range clients {
		y := top + overviewStep*float64(i)
		d.text(0, y+10, "start", "small", r.Lane(c, int(left/laneLetter)))
		d.path(heldPath(r, s, c, y), "holdline", "")
		overviewFaults(r, d, s, y, r.Client(c),
			func(f *history.FaultSpan) bool { return slices.Contains(f.Struck(), c) })
	}
	if served {
		y := top + overviewStep*float64(len(clients))
		d.text(0, y+10, "start", "small", phrase.Cut(r.History.Header.Service, 12))
		overviewFaults(r, d, s, y, "the lock service", func(f *history.FaultSpan) bool { return f.Service })
	}
	y := bottom - overviewStep + 8
	d.text(0, y+3, "start", "small", "store")
	overviewFaults(r, d, s, y-6, "links to the store", func(f *history.FaultSpan) bool { return f.Store })
	okPath, stalePath, refusedPath := writePaths(r, s, y)
	d.path(okPath, "okline", "")
	d.path(refusedPath, "refusedline", "")
	d.path(stalePath, "staleline", "")
	if p := overlapTicks(v, s, top-6); p != "" {
		d.path(p, "badtick", "double-holds")
	}
	if shown.To > shown.From {
		x0, x1 := s.clamp(shown.From), s.clamp(shown.To)
		d.rect(x0, top-5, max(x1-x0, 3), bottom-top+7, 3, "shown", "the part shown above")
	}
	d.data = fmt.Sprintf(` data-x0="%s" data-x1="%s"`, num(s.x0), num(s.x1))
	return d.done(fmt.Sprintf("The whole run, %s: holds of every client, faults, and writes.", phrase.Span(r.End)),
		class+" map")
}

// heldPath joins the holds of a client into one path; bars that touch on the
// same half pixel are merged.
func heldPath(r *reports.Record, s scale, c int32, y float64) string {
	var b strings.Builder
	open, x0, x1 := false, 0.0, 0.0
	flush := func() {
		if open {
			fmt.Fprintf(&b, "M%s %sH%s", num(x0), num(y+6), num(max(x1, x0+0.6)))
		}
	}
	for _, g := range r.Grants {
		if g.Client != c {
			continue
		}
		a, z := s.clamp(g.End), s.clamp(max(g.LastAct, g.End))
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
func overviewFaults(r *reports.Record, d *svg, s scale, y float64, whose string, on func(*history.FaultSpan) bool) {
	var injected, noticed strings.Builder
	for _, f := range r.Faults {
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

// writePaths returns ticks for accepted, stale and refused writes. Accepted
// ones on one pixel are drawn once.
func writePaths(r *reports.Record, s scale, y float64) (ok, stale, refused string) {
	var o, st, re strings.Builder
	last := -1.0
	for _, w := range r.Ops {
		if w.Kind != history.Write || w.Declined {
			continue
		}
		x := s.clamp(w.AtStore())
		switch {
		case r.Stale[w.ID]:
			fmt.Fprintf(&st, "M%s %sv14", num(x), num(y-7))
		case w.Refused:
			fmt.Fprintf(&re, "M%s %sv14", num(x), num(y-7))
		case w.Accepted() && x-last >= 1:
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
