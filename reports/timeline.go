package reports

import (
	"fmt"
	"html/template"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
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

// timeline is a window of the run, and how much of what lies in it was drawn.
type timeline struct {
	Drawing drawings
	// Caption says what is shown: "1.9 s around the double-hold at 1.620 s".
	Caption string
	// Left says what was left out, "" when nothing was.
	Left string

	from, to int64
}

// window is the timeline's part of the run in µs.
func (t timeline) window() [2]int64 { return [2]int64{micro(t.from), micro(t.to)} }

// drawings are one picture for wide screens and for narrow ones, of which a page shows the one that fits.
type drawings struct{ Wide, Slim template.HTML }

// painter draws one timeline.
type painter struct {
	*svg
	r       *record
	s       scale
	clients []int32
	t       *story // nil when there is no violation
	doubles []*checker.Violation
	slim    bool
	store   float64
	service float64
	bottom  float64
	marks   int
	leftOut int
}

// window shows [from, to] of the run, marking the double-holds, and the story's own above them.
func (r *record) window(t *story, doubles []*checker.Violation, service string, from, to int64) timeline {
	wide := r.paint(t, doubles, service, from, to, false)
	slim := r.paint(t, doubles, service, from, to, true)
	out := timeline{Drawing: drawings{wide.done(wide.label(), "wide"), slim.done(slim.label(), "slim")}, from: from, to: to}
	hidden := 0
	for _, c := range r.clients {
		if !slices.Contains(wide.clients, c) && wide.active(c) {
			hidden++
		}
	}
	if hidden > 0 {
		out.Left = plural(hidden, "more client") + " not drawn. "
	}
	if wide.leftOut > 0 {
		out.Left += plural(wide.leftOut, "more mark") + " not drawn: the window is too busy."
	}
	return out
}

// paint draws one window in one width.
func (r *record) paint(t *story, doubles []*checker.Violation, service string, from, to int64, slim bool) *painter {
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
	p.s.axis(p.svg, lineTop-10, p.bottom, p.r.voice)
	p.overlap()
	for i, c := range p.clients {
		p.lane(p.y(i), r.laneName(c, p.s.x0))
	}
	if p.serviceShows() {
		p.lane(p.service, cut(service, 12))
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
	return slices.ContainsFunc(p.r.faults, func(f *fault) bool { return f.Service && p.s.overlaps(f.From, f.To) })
}

// laneName names a client's lane, whose drawing begins left of it. Those beyond the workload's own only probe whether a key can be had.
func (r *record) laneName(c int32, left float64) string {
	if r.probes(c) {
		return "probe " + itoa(c)
	}
	return r.lane(c, int(left/laneLetter))
}

func (r *record) probes(c int32) bool { return r.h.Header.Clients > 0 && int(c) > r.h.Header.Clients }

func (p *painter) y(i int) float64 { return lineTop + lineStep*float64(i) + 10 }

// chooseClients takes those of the story first, then the others in order.
func (p *painter) chooseClients() {
	if p.t != nil {
		for _, g := range []*grant{p.t.a, p.t.b} {
			if g != nil && !slices.Contains(p.clients, g.client) {
				p.clients = append(p.clients, g.client)
			}
		}
	}
	for _, c := range p.r.clients {
		if len(p.clients) < lineLanes && !slices.Contains(p.clients, c) && p.active(c) {
			p.clients = append(p.clients, c)
		}
	}
	slices.Sort(p.clients)
}

// active tells whether the client does anything in the window. Those that only probe at the end would be empty lanes.
func (p *painter) active(c int32) bool {
	return slices.ContainsFunc(p.r.order, func(o *op) bool { return o.client == c && p.s.overlaps(o.start, o.end) })
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
	for _, g := range p.r.grants {
		end := max(g.last, g.end)
		y, ok := p.laneOf(g.client)
		if !ok || !p.s.overlaps(g.end, end) {
			continue
		}
		if drawn == lineGrants && !p.cast(g) {
			p.leftOut++
			continue
		}
		if !p.cast(g) {
			drawn++
		}
		x0, x1 := p.s.clamp(g.end), p.s.clamp(end)
		name := grantName(g.id, g.token)
		p.rect(x0, y-10, max(x1-x0, 2), 20, 3, p.holdClass(g), fmt.Sprintf("%s holds %s under %s, %s to %s",
			p.r.client(g.client), p.r.key(g.key), name, p.r.at(g.end), p.r.at(end)))
		if len(p.r.h.Keys) > 1 {
			name = p.r.key(g.key) + " " + name
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
func (p *painter) covered(g *grant, x float64) bool {
	return slices.ContainsFunc(p.r.faults, func(f *fault) bool {
		return f.touches(g.client) && f.To > g.end && p.s.clamp(f.From) < x && f.From < max(g.last, g.end)
	})
}

// cast tells whether the grant plays in the story.
func (p *painter) cast(g *grant) bool { return p.t != nil && (g == p.t.a || g == p.t.b) }

func (p *painter) holdClass(g *grant) string {
	switch {
	case p.t == nil || g == p.t.a:
		return "hold"
	case g == p.t.b:
		return "hold2"
	}
	return "dim"
}

// waits draws the time that clients spent in acquire.
func (p *painter) waits() {
	for _, o := range p.r.order {
		end := o.end
		if o.how == history.TypeNone {
			end = p.r.end
		}
		y, ok := p.laneOf(o.client)
		if o.kind != history.Acquire || !ok || !p.s.overlaps(o.start, end) || p.s.clamp(end)-p.s.clamp(o.start) < 1.5 {
			continue
		}
		if p.more() {
			p.path(fmt.Sprintf("M%s %sH%s", num(p.s.clamp(o.start)), num(y), num(p.s.clamp(end))), "wait", p.r.waited(o, end))
		}
	}
}

func (r *record) waited(o *op, end int64) string {
	s := fmt.Sprintf("%s waits %s", r.client(o.client), span(end-o.start))
	switch {
	case o.busy:
		return s + ", in vain"
	case o.how != history.OK:
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
	s := fmt.Sprintf("Timeline of %s, the lock service and the store, %s to %s.", plural(len(p.clients), "client"), p.r.at(p.s.from), p.r.at(p.s.to))
	if p.t != nil {
		if from, to, ok := overlap(p.t.v); ok {
			s += fmt.Sprintf(" Two clients hold %s from %s to %s.", p.t.key, p.r.at(from), p.r.at(to))
		}
	}
	return s
}
