package reports

import (
	"html/template"
	"slices"
	"strings"
)

// The measures of a sequence diagram, in its own units.
const (
	seqWidth = 540.0
	seqTop   = 58.0
	seqStep  = 38.0
)

// sequence draws a story as a sequence diagram: client A, the lock service, client B and the store, a step a moment. The
// steps are evenly spaced, for the times that matter differ by orders of magnitude; the timeline shows the true ones.
func (r *record) sequence(t *story, service string) template.HTML {
	lanes := newLanes(t)
	lanes.voice = r.voice
	if len(lanes.clients) == 0 {
		return ""
	}
	d := &svg{w: seqWidth, h: seqTop + seqStep*float64(len(t.Moments)) + 4}
	if t.Left > 0 {
		d.h += 20
		d.text(seqWidth/2, d.h-6, "middle", "m small", "… "+plural(t.Left, "step")+" left out")
	}
	lanes.draw(d, cut(service, 22))
	y := func(i int) float64 { return seqTop + seqStep*float64(i) }
	for i, g := range []*grant{t.a, t.b} {
		r.holdBar(d, t, lanes, g, i, y)
	}
	freezeBar(d, t, lanes, y)
	for i, m := range t.Moments {
		drawArrow(d, lanes, m, y(i))
	}
	label := "Sequence of the violation: "
	for i, m := range t.Moments {
		if i > 0 {
			label += " "
		}
		label += m.Text.String()
	}
	return d.done(label, "sequence")
}

// seqLanes places the lanes: the service between the clients, the store to the right.
type seqLanes struct {
	voice
	clients        []int32
	service, store float64
}

func newLanes(t *story) seqLanes {
	var l seqLanes
	add := func(who int32) {
		if who > 0 && len(l.clients) < 2 && !slices.Contains(l.clients, who) {
			l.clients = append(l.clients, who)
		}
	}
	for _, g := range []*grant{t.a, t.b} {
		if g != nil {
			add(g.client)
		}
	}
	for _, m := range t.Moments {
		add(m.who)
	}
	l.service, l.store = 210, 490
	return l
}

func (l seqLanes) x(who int32) (float64, bool) {
	switch slices.Index(l.clients, who) {
	case 0:
		return 78, true
	case 1:
		return 346, true
	}
	return 0, false
}

func (l seqLanes) draw(d *svg, service string) {
	head := func(x float64, text string) {
		d.text(x, 18, "middle", "strong", text)
		d.line(x, 28, x, d.h, "lifeline")
	}
	for _, who := range l.clients {
		x, _ := l.x(who)
		head(x, l.lane(who, 22))
	}
	head(l.service, service)
	head(l.store, "store")
}

// holdBar draws how long a client held, from its acquire to the last step under the grant.
func (r *record) holdBar(d *svg, t *story, l seqLanes, g *grant, nr int, y func(int) float64) {
	if g == nil {
		return
	}
	first, last := -1, -1
	for i, m := range t.Moments {
		if m.op != nil && m.op.grant == g.grant || m.op == g.op && g.op != nil {
			if first < 0 {
				first = i
			}
			if r.isAct(m.op) || m.op == g.op {
				last = i
			}
		}
	}
	x, ok := l.x(g.client)
	if !ok || first < 0 {
		return
	}
	class := "hold"
	if nr == 1 {
		class = "hold2"
	}
	d.rect(x-7, y(first), 14, max(y(last)-y(first), 8), 3, class, r.client(g.client)+" holds under "+grantName(g.id, g.token))
}

func freezeBar(d *svg, t *story, l seqLanes, y func(int) float64) {
	from, to := -1, len(t.Moments)-1
	for i, m := range t.Moments {
		if m.freeze != nil {
			from = i
		}
		if m.thaw != nil {
			to = i
		}
	}
	if from < 0 || len(t.fault.Clients) == 0 {
		return
	}
	x, ok := l.x(t.fault.Clients[0])
	if !ok {
		return
	}
	word := t.fault.did()
	long := span(t.fault.To - t.fault.From)
	switch {
	case t.fault.kills():
		long = "for good"
	case t.fault.sudden():
		to, long = from, ""
	}
	d.rect(x-12, y(from)-6, 24, max(y(to)-y(from)+6, 16), 4, "fault", strings.TrimSpace(l.client(t.fault.Clients[0])+" "+word+" "+long))
	mid := (y(from) + y(to)) / 2
	// To the side where there is room: left of the first client, right of the second.
	side, anchor := x-17, "end"
	if x > 300 {
		side, anchor = x+17, "start"
	}
	d.text(side, mid-4, anchor, "faultink small", t.fault.bar())
	if long != "" {
		d.text(side, mid+10, anchor, "faultink small", long)
	}
}

func drawArrow(d *svg, l seqLanes, m moment, y float64) {
	a := m.arrow
	if a == nil {
		return
	}
	if a.to == atService {
		class := "dot"
		if m.aside {
			class = "dotaside"
		}
		d.circle(l.service, y, 4, class, "")
		d.text(l.service+10, y+4, "start", "small halo", a.label)
		return
	}
	x, ok := l.x(m.who)
	if !ok {
		return
	}
	end := l.service
	if a.to == toStore {
		end = l.store
	}
	if a.back {
		x, end = end, x
	}
	dir := 1.0
	if end < x {
		dir = -1
	}
	class := string(toneClass(a.tone))
	d.line(x+dir*8, y, end-dir*8, y, "arrow"+class)
	tip := end - dir*2
	d.path("M"+num(tip)+" "+num(y)+"l"+num(-dir*8)+" -4v8z", "tip"+class, "")
	d.text((x+end)/2, y-6, "middle", "small halo ink"+class, cut(a.label, 44))
}

// toneClass is the suffix of the style classes for a tone.
func toneClass(t tone) tone {
	if t == plain {
		return ""
	}
	return "-" + t
}
