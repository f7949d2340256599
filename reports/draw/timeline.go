package draw

import (
	"fmt"
	"html/template"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/story"
)

// The measures of a timeline, in its own units, and the most that one shows.
const (
	lineWidth  = 1080.0
	slimWidth  = 470.0 // for narrow screens
	lineLeft   = 92.0
	slimLeft   = 62.0
	laneLetter = 6.5 // the width of a letter of a lane's name
	lineTop    = 34.0
	lineStep   = 38.0
	lineLanes  = 14   // clients
	lineGrants = 160  // holds
	lineMarks  = 1200 // reads, writes and waits
)

// Timeline is a window of the run, and how much of what lies in it was drawn.
type Timeline struct {
	Drawing Drawings
	// Caption says what is shown: "1.9 s around the double-hold at 1.620 s".
	Caption string
	// Left says what was left out, "" when nothing was.
	Left string

	from, To int64
}

// window is the timeline's part of the run in µs.
func (t Timeline) window() [2]int64 { return [2]int64{phrase.Micro(t.from), phrase.Micro(t.To)} }

// Drawings are one picture for wide screens and for narrow ones, of which a page shows the one that fits.
type Drawings struct{ Wide, Slim template.HTML }

// painter draws one timeline.
type painter struct {
	*svg
	r       *reports.Record
	s       scale
	clients []int32
	t       *story.Story // nil when there is no violation
	doubles []*checker.Violation
	slim    bool
	store   float64
	service float64
	bottom  float64
	marks   int
	leftOut int
}

// Window shows [from, to] of the run, marking the double-holds, and the story's own above them.
func Window(r *reports.Record, t *story.Story, doubles []*checker.Violation, service string, from, to int64) Timeline {
	wide := paint(r, t, doubles, service, from, to, false)
	slim := paint(r, t, doubles, service, from, to, true)
	out := Timeline{Drawing: Drawings{wide.done(wide.label(), "wide"), slim.done(slim.label(), "slim")}, from: from, To: to}
	hidden := 0
	for _, c := range r.Clients {
		if !slices.Contains(wide.clients, c) && wide.active(c) {
			hidden++
		}
	}
	if hidden > 0 {
		out.Left = phrase.Plural(hidden, "more client") + " not drawn. "
	}
	if wide.leftOut > 0 {
		out.Left += phrase.Plural(wide.leftOut, "more mark") + " not drawn: the window is too busy."
	}
	return out
}

// paint draws one window in one width.
func paint(r *reports.Record, t *story.Story, doubles []*checker.Violation, service string, from, to int64, slim bool) *painter {
	width, left := lineWidth, lineLeft
	if slim {
		width, left = slimWidth, slimLeft
	}
	p := &painter{svg: &svg{w: width}, r: r, t: t, doubles: doubles, slim: slim, s: scale{from, to, left, width - 14}}
	p.chooseClients()
	lanes := len(p.clients)
	p.service = lineTop + lineStep*float64(lanes)
	p.store = p.service + 10
	if p.serviceShows() {
		p.store = p.service + lineStep
	}
	p.bottom = p.store + 24
	p.h = p.bottom + 24
	p.s.axis(p.svg, lineTop-10, p.bottom, p.r.Voice)
	p.overlap()
	for i, c := range p.clients {
		p.lane(p.y(i), laneName(r, c, p.s.x0))
	}
	if p.serviceShows() {
		p.lane(p.service, phrase.Cut(service, 12))
	}
	p.lane(p.store, "store")
	p.holds()
	p.waits()
	p.faults()
	p.ops()
	p.leases()
	return p
}

// serviceShows tells whether the lock service's lane has anything to show.
func (p *painter) serviceShows() bool {
	if _, ok := p.lease(); ok {
		return true
	}
	return slices.ContainsFunc(p.r.Faults, func(f *history.FaultSpan) bool { return f.Service && p.s.overlaps(f.From, f.To) })
}

// laneName names a client's lane, whose drawing begins left of it. Those beyond the workload's own only probe whether a key can be had.
func laneName(r *reports.Record, c int32, left float64) string {
	if probes(r, c) {
		return "probe " + phrase.Itoa(c)
	}
	return r.Lane(c, int(left/laneLetter))
}

func probes(r *reports.Record, c int32) bool {
	return r.History.Header.Clients > 0 && int(c) > r.History.Header.Clients
}

func (p *painter) y(i int) float64 { return lineTop + lineStep*float64(i) + 10 }

// chooseClients takes those of the story first, then the others in order.
func (p *painter) chooseClients() {
	if p.t != nil {
		for _, g := range []*history.Grant{p.t.A, p.t.B} {
			if g != nil && !slices.Contains(p.clients, g.Client) {
				p.clients = append(p.clients, g.Client)
			}
		}
	}
	for _, c := range p.r.Clients {
		if len(p.clients) < lineLanes && !slices.Contains(p.clients, c) && p.active(c) {
			p.clients = append(p.clients, c)
		}
	}
	slices.Sort(p.clients)
}

// active tells whether the client does anything in the window. Those that only probe at the end would be empty lanes.
func (p *painter) active(c int32) bool {
	return slices.ContainsFunc(p.r.Ops, func(o *history.Op) bool { return o.Client == c && p.s.overlaps(o.Start, o.End) })
}

func (p *painter) laneOf(c int32) (float64, bool) {
	i := slices.Index(p.clients, c)
	return p.y(i), i >= 0
}

func (p *painter) lane(y float64, name string) {
	p.text(0, y+4, "start", "", name)
	p.line(p.s.x0, y, p.s.x1, y, "gridline")
}

// holds draws every grant's bar with its name, if there is room for it.
func (p *painter) holds() {
	drawn := 0
	for _, g := range p.r.Grants {
		end := max(g.LastAct, g.End)
		y, ok := p.laneOf(g.Client)
		if !ok || !p.s.overlaps(g.End, end) {
			continue
		}
		if drawn == lineGrants && !p.cast(g) {
			p.leftOut++
			continue
		}
		if !p.cast(g) {
			drawn++
		}
		x0, x1 := p.s.clamp(g.End), p.s.clamp(end)
		name := reports.GrantName(g.ID, g.Token)
		p.rect(x0, y-10, max(x1-x0, 2), 20, 3, p.holdClass(g), fmt.Sprintf("%s holds %s under %s, %s to %s",
			p.r.Client(g.Client), p.r.Key(g.Key), name, p.r.At(g.End), p.r.At(end)))
		if len(p.r.History.Keys) > 1 {
			name = p.r.Key(g.Key) + " " + name
		}
		if x1-x0 > float64(len(name))*7+8 && !p.covered(g, x0+float64(len(name))*7+8) {
			class := "t onhold"
			if p.t != nil && !p.cast(g) {
				class = "t"
			}
			p.text(x0+6, y+4, "start", class, name)
		}
	}
}

// covered tells whether a fault's band lies over the name at the beginning of a hold, which ends at x.
func (p *painter) covered(g *history.Grant, x float64) bool {
	return slices.ContainsFunc(p.r.Faults, func(f *history.FaultSpan) bool {
		return f.Disturbs(g.Client) && f.To > g.End && p.s.clamp(f.From) < x && f.From < max(g.LastAct, g.End)
	})
}

// cast tells whether the grant plays in the story.
func (p *painter) cast(g *history.Grant) bool { return p.t != nil && (g == p.t.A || g == p.t.B) }

func (p *painter) holdClass(g *history.Grant) string {
	switch {
	case p.t == nil || g == p.t.A:
		return "hold"
	case g == p.t.B:
		return "hold2"
	}
	return "dim"
}

// waits draws the time that clients spent in acquire.
func (p *painter) waits() {
	for _, o := range p.r.Ops {
		end := o.End
		if o.Outcome == history.TypeNone {
			end = p.r.End
		}
		y, ok := p.laneOf(o.Client)
		if o.Kind != history.Acquire || !ok || !p.s.overlaps(o.Start, end) || p.s.clamp(end)-p.s.clamp(o.Start) < 1.5 {
			continue
		}
		if p.more() {
			p.path(fmt.Sprintf("M%s %sH%s", num(p.s.clamp(o.Start)), num(y), num(p.s.clamp(end))), "wait", waited(p.r, o, end))
		}
	}
}

func waited(r *reports.Record, o *history.Op, end int64) string {
	s := fmt.Sprintf("%s waits %s", r.Client(o.Client), phrase.Span(end-o.Start))
	switch {
	case o.Busy:
		return s + ", in vain"
	case o.Outcome != history.OK:
		return s + ", no clear answer"
	}
	return s
}

// more counts a mark, and tells whether there is room for it.
func (p *painter) more() bool {
	if p.marks >= lineMarks {
		p.leftOut++
		return false
	}
	p.marks++
	return true
}

// label is the drawing in words.
func (p *painter) label() string {
	s := fmt.Sprintf("Timeline of %s, the lock service and the store, %s to %s.", phrase.Plural(len(p.clients), "client"), p.r.At(p.s.from), p.r.At(p.s.to))
	if p.t != nil {
		if from, to, ok := reports.Overlap(p.t.Violation); ok {
			s += fmt.Sprintf(" Two clients hold %s from %s to %s.", p.t.Key, p.r.At(from), p.r.At(to))
		}
	}
	return s
}
