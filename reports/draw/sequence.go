package draw

import (
	"html/template"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/story"
)

// The measures of a sequence diagram, in its own units.
const (
	seqWidth = 540.0
	seqTop   = 58.0
	seqStep  = 38.0
)

// Sequence draws a story as a sequence diagram: client A, the lock service, client
// B and the store, a step a moment. The steps are evenly spaced, for the times
// that matter differ by orders of magnitude; the timeline shows the true ones.
func Sequence(r *reports.Record, t *story.Story, service string) template.HTML {
	lanes := newLanes(t)
	lanes.Labels = r.Labels
	if len(lanes.clients) == 0 {
		return ""
	}
	d := &svg{w: seqWidth, h: seqTop + seqStep*float64(len(t.Moments)) + 4}
	if t.Left > 0 {
		d.h += 20
		d.text(seqWidth/2, d.h-6, "middle", "m small", "… "+phrase.Plural(t.Left, "step")+" left out")
	}
	lanes.draw(d, phrase.Cut(service, 22))
	y := func(i int) float64 { return seqTop + seqStep*float64(i) }
	for i, g := range []*history.Grant{t.A, t.B} {
		holdBar(r, d, t, lanes, g, i, y)
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
	reports.Labels
	clients        []int32
	service, store float64
}

func newLanes(t *story.Story) seqLanes {
	var l seqLanes
	add := func(who int32) {
		if who > 0 && len(l.clients) < 2 && !slices.Contains(l.clients, who) {
			l.clients = append(l.clients, who)
		}
	}
	for _, g := range []*history.Grant{t.A, t.B} {
		if g != nil {
			add(g.Client)
		}
	}
	for _, m := range t.Moments {
		add(m.Who)
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
		head(x, l.Lane(who, 22))
	}
	head(l.service, service)
	head(l.store, "store")
}

// holdBar draws how long a client held, from its acquire to the last step under the grant.
func holdBar(r *reports.Record, d *svg, t *story.Story, l seqLanes, g *history.Grant, nr int, y func(int) float64) {
	if g == nil {
		return
	}
	first, last := -1, -1
	for i, m := range t.Moments {
		if m.Op != nil && m.Op.Grant == g.Grant || m.Op == g.Op && g.Op != nil {
			if first < 0 {
				first = i
			}
			if r.IsAct(m.Op) || m.Op == g.Op {
				last = i
			}
		}
	}
	x, ok := l.x(g.Client)
	if !ok || first < 0 {
		return
	}
	class := "hold"
	if nr == 1 {
		class = "hold2"
	}
	d.rect(x-7, y(first), 14, max(y(last)-y(first), 8), 3, class,
		r.Client(g.Client)+" holds under "+reports.NameOf(g))
}

func freezeBar(d *svg, t *story.Story, l seqLanes, y func(int) float64) {
	from, to := -1, len(t.Moments)-1
	for i, m := range t.Moments {
		if m.Freeze != nil {
			from = i
		}
		if m.Thaw != nil {
			to = i
		}
	}
	if from < 0 || len(t.Fault.Clients) == 0 {
		return
	}
	x, ok := l.x(t.Fault.Clients[0])
	if !ok {
		return
	}
	word := story.Did(t.Fault)
	long := phrase.Span(t.Fault.To - t.Fault.From)
	switch {
	case t.Fault.Kills():
		long = "for good"
	case t.Fault.Sudden():
		to, long = from, ""
	}
	d.rect(x-12, y(from)-6, 24, max(y(to)-y(from)+6, 16), 4, "fault",
		strings.TrimSpace(l.Client(t.Fault.Clients[0])+" "+word+" "+long))
	mid := (y(from) + y(to)) / 2
	// To the side where there is room: left of the first client, right of the second.
	side, anchor := x-17, "end"
	if x > 300 {
		side, anchor = x+17, "start"
	}
	d.text(side, mid-4, anchor, "faultink small", story.Bar(t.Fault))
	if long != "" {
		d.text(side, mid+10, anchor, "faultink small", long)
	}
}

func drawArrow(d *svg, l seqLanes, m story.Moment, y float64) {
	a := m.Arrow
	if a == nil {
		return
	}
	if a.To == story.AtService {
		class := "dot"
		if m.Aside {
			class = "dotaside"
		}
		d.circle(l.service, y, 4, class, "")
		d.text(l.service+10, y+4, "start", "small halo", a.Label)
		return
	}
	x, ok := l.x(m.Who)
	if !ok {
		return
	}
	end := l.service
	if a.To == story.ToStore {
		end = l.store
	}
	if a.Back {
		x, end = end, x
	}
	dir := 1.0
	if end < x {
		dir = -1
	}
	class := string(toneClass(a.Tone))
	d.line(x+dir*8, y, end-dir*8, y, "arrow"+class)
	tip := end - dir*2
	d.path("M"+num(tip)+" "+num(y)+"l"+num(-dir*8)+" -4v8z", "tip"+class, "")
	d.text((x+end)/2, y-6, "middle", "small halo ink"+class, phrase.Cut(a.Label, 44))
}

// toneClass is the suffix of the style classes for a tone.
func toneClass(t story.Tone) story.Tone {
	if t == story.Plain {
		return ""
	}
	return "-" + t
}
