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
	"github.com/lockchaos/lockchaos/reports/story"
)

// The measures of a still timeline are those of script/draw.js, in windows of
// 1280 and of 400 pixels.
const (
	stillWidth = 1046.0
	stillSlim  = 350.0
	stillTop   = 34.0
	stillStep  = 30.0
	stillPoint = 3.0 // what is narrower is not pointed at, and needs no words
)

// Timeline is a window of the run, and how much of what lies in it was drawn.
type Timeline struct {
	Drawing Drawings
	// Caption says what is shown: "1.9 s around the double-hold at 1.620 s".
	Caption string
	// Left says what was left out, "" when nothing was.
	Left string

	From, To int64 // ns
}

// Drawings are one picture for wide screens and for narrow ones, of which a
// page shows the one that fits.
type Drawings struct{ Wide, Slim template.HTML }

// Still draws [from, to] (ns) of the run as script/draw.js does, for those without a script.
func (x *Explorer) Still(from, to int64) Timeline {
	out := Timeline{From: from, To: to, Drawing: Drawings{
		x.still(scale{from, to, 96, stillWidth - 12}, "wide"), x.still(scale{from, to, 66, stillSlim - 12}, "slim")}}
	if x.Detail != nil && !slices.ContainsFunc(x.Detail,
		func(d [2]int64) bool { return d[0] <= phrase.Micro(from) && d[1] >= phrase.Micro(to) }) {
		out.Left = "Bars show how busy it was: the page has single ops only around violations and faults. "
	}
	if x.More > 0 {
		out.Left += phrase.Plural(x.More, "more client") + " not drawn."
	}
	return out
}

// painter draws one still. Its instants are in µs, as the data's are.
type painter struct {
	*svg
	*Explorer
	s      scale
	chosen *Place // nil for none
	bottom float64
	names  []func() // are drawn over all bars
	tokens map[int64]int64
}

func (x *Explorer) still(s scale, class string) template.HTML {
	p := &painter{svg: &svg{w: s.x1 + 12}, Explorer: x, s: s, chosen: x.toldViolation(),
		bottom: stillTop + stillStep*float64(len(x.Lanes)) + 4, tokens: map[int64]int64{}}
	for _, h := range x.Holds {
		p.tokens[h.grant] = h.token
	}
	p.h = p.bottom + 24
	s.axis(p.svg, stillTop-10, p.bottom, x.labels)
	p.overlaps()
	for i, name := range x.Lanes {
		if n := []rune(name); x.Named && class == "slim" && len(n) > 9 {
			name = string(n[:4]) + "…" + string(n[len(n)-4:])
		}
		p.text(0, p.y(int64(i))+4, "start", "", name)
		p.line(s.x0, p.y(int64(i)), s.x1, p.y(int64(i)), "gridline")
	}
	p.dense()
	p.holds()
	p.waits()
	p.faults()
	for _, name := range p.names {
		name()
	}
	crowded := p.crowded()
	p.marks(crowded)
	p.writes(crowded)
	p.lease()
	p.beyond()
	return p.done(p.label(), class)
}

func (p *painter) y(lane int64) float64 { return stillTop + stillStep*(float64(lane)+0.5) }

// x maps an instant, moving one outside onto the edge.
func (p *painter) x(us int64) float64 { return p.s.clamp(us * 1000) }

// sees reports whether any of [from, to] is in sight.
func (p *painter) sees(from, to int64) bool { return p.s.overlaps(from*1000, to*1000) }

func (p *painter) store() int64 { return int64(len(p.Lanes)) - 1 }
func (p *painter) grant(id int64) string {
	token := p.tokens[id]
	if token == noughtToken {
		return reports.GrantName(id, history.TokenOf(0))
	}
	return reports.GrantName(id, history.NonzeroToken(token))
}

func (p *painter) when(us int64) string       { return p.labels.At(us * 1000) }
func (p *painter) long(from, to int64) string { return phrase.Span((to - from) * 1000) }

// bar draws a bar of a lane, with words for those who can point at it.
func (p *painter) bar(x0, x1, y, h float64, class, title string) {
	if x1-x0 < stillPoint {
		title = ""
	}
	p.rect(x0, y, x1-x0, h, 0, class, title)
}

// name writes on a bar, once all bars are drawn.
func (p *painter) name(x, y float64, class, text string) {
	p.names = append(p.names, func() { p.text(x, y, "start", class, text) })
}

// overlaps shades the other violations that last, and hatches the one that is told.
func (p *painter) overlaps() {
	open := p.s.x0
	for i := range p.Violations {
		v := &p.Violations[i]
		if v.From == 0 || v == p.chosen || !p.sees(v.From, v.To) {
			continue
		}
		if x0, x1 := max(p.x(v.From), open), p.x(v.To); x1 > x0 {
			p.rect(x0, stillTop-8, x1-x0, p.bottom-stillTop+8, 0, "overlap", "")
			open = x1
		}
	}
	if p.chosen == nil {
		return
	}
	from, to := p.chosen.At, p.chosen.At
	if p.chosen.From > 0 {
		from, to = p.chosen.From, p.chosen.To
	}
	if !p.sees(from, to) {
		return
	}
	x0 := p.x(from)
	x1 := min(max(p.x(to), x0+2), p.s.x1)
	p.rect(x0, stillTop-12, x1-x0, p.bottom-stillTop+12, 0, "overlap chosen", "")
	// unique among the drawings of a page
	id := fmt.Sprintf("stripes-%d-%d-%s", p.s.from, p.s.to, num(p.w))
	fmt.Fprintf(&p.b, `<pattern id="%s" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(30)"><path d="M2 0v8" class="hatchline"/></pattern>`+
		`<path d="%s" fill="url(#%s)"/>`, id, boxPath(x0, stillTop-12, x1-x0, p.bottom-stillTop+12), id)
	half := float64(len([]rune(p.chosen.Label))) * 3.6
	p.text(min(max((x0+x1)/2, half), p.w-half), stillTop-18, "middle", "strong ink-bad", p.chosen.Label)
}

func boxPath(x, y, w, h float64) string {
	return fmt.Sprintf("M%s %sh%sv%sh%sz", num(x), num(y), num(w), num(h), num(-w))
}

// dense draws how busy it was where single ops are not known.
func (p *painter) dense() {
	if p.Density == nil {
		return
	}
	var held, accepted strings.Builder
	part, most := float64(p.End)/densityBuckets, max(1, slices.Max(p.Density.Accepted))
	for i, n := range p.Density.Accepted {
		from, to := int64(float64(i)*part), int64(float64(i+1)*part)
		x0, x1 := p.x(from), p.x(to)
		if x1 <= x0 || slices.ContainsFunc(p.Detail, func(d [2]int64) bool { return d[0] <= from && d[1] >= to }) {
			continue
		}
		add := func(b *strings.Builder, lane int64, height float64) {
			if height > 0 {
				b.WriteString(boxPath(x0, p.y(lane)+9-height, x1-x0, height))
			}
		}
		for lane, digits := range p.Density.Held {
			add(&held, int64(lane), 1.8*float64(digits[i]-'0'))
		}
		add(&accepted, p.store(), 18*float64(n)/float64(most))
	}
	p.path(held.String(), "dense", "")
	p.path(accepted.String(), "dense-ok", "")
}

// holdClass tells the grants of the chosen violation from the others.
func (p *painter) holdClass(grant int64) string {
	switch {
	case p.chosen == nil || p.chosen.A == 0 || grant == p.chosen.A:
		return "hold"
	case grant == p.chosen.B:
		return "hold2"
	}
	return "dim"
}

// merged keeps where the last thing of a kind was drawn on a lane.
type merged map[string]float64

// hides reports whether what is drawn up to x lies within the gap after the last
// of its kind, and is not to be drawn.
func (m merged) hides(x float64, lane int64, kind string, gap float64) bool {
	at := phrase.Itoa(lane) + kind
	if x-m[at] < gap {
		return true
	}
	m[at] = x
	return false
}

func (p *painter) holds() {
	drawn := merged{}
	for _, h := range p.Holds {
		class, y := p.holdClass(h.grant), p.y(h.lane)
		x0 := p.x(h.from)
		x1 := min(max(p.x(h.to), x0+1.5), p.s.x1)
		if !p.sees(h.from, h.to) || drawn.hides(x1, h.lane, class, 0.5) {
			continue
		}
		name := p.grant(h.grant)
		p.bar(x0, x1, y-10, 20, class, fmt.Sprintf("%s holds %s under %s, %s to %s", p.Lanes[h.lane], p.Keys[h.key],
			name, p.when(h.from), p.when(h.to)))
		if len(p.Keys) > 1 {
			name = p.Keys[h.key] + " " + name
		}
		room := float64(len(name)) * 7
		if x1-x0 <= room+10 || slices.ContainsFunc(p.Faults, func(f Band) bool {
			return !f.Strip && slices.Contains(f.Lanes, h.lane) && f.From < h.to && f.To > h.from &&
				p.x(f.From) < x0+room+8
		}) {
			continue
		}
		ink := "t onhold"
		if class == "dim" {
			ink = "t"
		}
		p.name(x0+6, y+4, ink, name)
	}
}

func (p *painter) waits() {
	drawn := merged{}
	for _, w := range p.Waits {
		x0, x1 := p.x(w.from), p.x(w.to)
		if p.sees(w.from, w.to) && x1-x0 >= 1.5 && !drawn.hides(x1, w.lane, "", 0.5) {
			p.path(fmt.Sprintf("M%s %sH%s", num(x0), num(p.y(w.lane)), num(x1)), "wait",
				fmt.Sprintf("%s waits %s: %s", p.Lanes[w.lane], p.long(w.from, w.to), waitWords[w.how]))
		}
	}
}

func (p *painter) faults() {
	for _, f := range p.Faults {
		if !p.sees(f.From, f.To) {
			continue
		}
		x0 := p.x(f.From)
		x1 := min(max(p.x(f.To), x0+2), p.s.x1)
		class, title := "fault edge", fmt.Sprintf("%s to %s: %s", p.when(f.From), p.when(f.To), f.Text)
		if f.Stall {
			class += " stall"
		}
		for _, lane := range f.Lanes {
			if f.Strip && lane < p.Clients { // beside the lane
				p.bar(x0, x1, p.y(lane)+10, 5, class, title)
				continue
			}
			p.bar(x0, x1, p.y(lane)-8, 16, class, title)
			p.faultName(f, lane, x0, x1)
		}
	}
}

// faultName writes on a fault's band what there is room for.
func (p *painter) faultName(f Band, lane int64, x0, x1 float64) {
	long := f.Word + " " + p.long(f.From, f.To)
	if f.Grant != 0 && lane < p.Clients {
		long = p.grant(f.Grant) + ", " + long
	}
	for _, text := range []string{long, f.Word} {
		if x1-x0 > float64(len(text))*6.5+14 {
			p.name(x0+8, p.y(lane)+4, "faultink small", text)
			return
		}
	}
}

// crowded reports whether there is too much in sight to draw every act: then lanes show holds only.
func (p *painter) crowded() bool {
	n := 0
	for _, m := range p.Marks {
		if p.sees(m.at, m.at) {
			n++
		}
	}
	for _, w := range p.Writes {
		if p.sees(w.at, w.at) {
			n++
		}
	}
	return float64(n) > p.w/3
}

// dim marks what was done under a grant that the chosen violation is not about.
func (p *painter) dim(grant int64) string {
	if p.holdClass(grant) == "dim" {
		return " dimmark"
	}
	return ""
}

// marks draws what clients did beside writing.
func (p *painter) marks(crowded bool) {
	drawn := merged{}
	for _, m := range p.Marks {
		x, y := p.x(m.at), p.y(m.lane)
		if !p.sees(m.at, m.at) || m.what != markLost &&
			(crowded || drawn.hides(x, m.lane, "m"+phrase.Itoa(m.what), 1)) {
			continue
		}
		no := ""
		if m.how != 0 {
			no = " no"
		}
		switch m.what {
		case markRead:
			p.path(fmt.Sprintf("M%s %sv7", num(x), num(y+2)), "readmark"+p.dim(m.grant), "")
		case markRenew:
			p.path(fmt.Sprintf("M%s %sl3.5 -4l3.5 4", num(x-3.5), num(y-11)), "renewmark"+no, "")
		case markRelease:
			p.path(fmt.Sprintf("M%s %sv20", num(x), num(y-10)), "releasemark"+no, "")
		case markLost:
			p.path(fmt.Sprintf("M%s %sl3.5 4l3.5 -4", num(x-3.5), num(y+11)), "lostmark", "")
		}
	}
}

// writes draws writes on their client's lane and on the store's. What became of
// those that matter is drawn last, so that no other covers it.
func (p *painter) writes(crowded bool) {
	drawn := merged{}
	var special []write
	for _, w := range p.Writes {
		x, y := p.x(w.at), p.y(w.lane)
		if p.sees(w.at, w.at) && !crowded && (w.how != writeAccepted || !drawn.hides(x, w.lane, "w", 1)) {
			p.path(fmt.Sprintf("M%s %sv16", num(x), num(y-8)), "writemark"+p.dim(w.grant), "")
		}
		switch at := p.x(w.decided); {
		case !p.sees(w.decided, w.decided):
		case w.how != writeAccepted && w.how != writeUnknown:
			special = append(special, w)
		case !drawn.hides(at, p.store(), "s"+phrase.Itoa(w.how), 3):
			p.fate(w, at)
		}
	}
	for _, w := range special {
		p.fate(w, p.x(w.decided))
	}
}

// fate draws what became of a write: its shape tells it, not its colour alone.
func (p *painter) fate(w write, x float64) {
	y := p.y(p.store())
	title := fmt.Sprintf("%s: %s writes v%d under %s: %s", p.when(w.at), p.Lanes[w.lane], w.version, p.grant(w.grant),
		writeWords[w.how])
	switch w.how {
	case writeRefused, writeConflict:
		p.path(fmt.Sprintf("M%s %sl8 8m0 -8l-8 8", num(x-4), num(y-4)), "refused", "")
		p.circle(x, y, 9, "refusedring", title)
	case writeStale:
		p.circle(x, y, 5, "staledot", title)
		p.circle(x, y, 9, "stalering", "")
	case writeLossy:
		p.circle(x, y, 5, "okdot", title)
		p.circle(x, y, 9, "stalering", "")
	case writeAccepted:
		p.circle(x, y, 4.5, "okdot", title)
	default:
		p.circle(x, y, 4.5, "unknowndot", title)
	}
}

// lease marks on the service's lane where the promise of the chosen violation's first grant ends.
func (p *painter) lease() {
	if p.chosen == nil || p.chosen.Lease == 0 || !p.sees(p.chosen.Lease, p.chosen.Lease) {
		return
	}
	x, y := p.x(p.chosen.Lease), p.y(p.store()-1)
	p.line(x, y-11, x, y+11, "expiry")
	anchor, dx := "start", 6.0
	if x > p.w-170 {
		anchor, dx = "end", -6
	}
	p.text(x+dx, y+4, anchor, "small halo", "lease of "+p.grant(p.chosen.A)+" ends")
}

// beyond points at what the earlier holder did to the store, where that lies beyond a close up.
func (p *painter) beyond() {
	if p.chosen == nil || p.chosen.A == 0 || p.s.to < p.chosen.From*1000 {
		return
	}
	var next *write
	for i, w := range p.Writes {
		if w.grant != p.chosen.A || w.how < writeRefused || w.how > writeLossy {
			continue
		}
		if p.sees(w.decided, w.decided) {
			return
		}
		if next == nil && w.decided*1000 > p.s.to {
			next = &p.Writes[i]
		}
	}
	if next != nil {
		p.text(p.s.x1, p.y(p.store())+4, "end", "small strong halo ink-bad beyond",
			fmt.Sprintf("%s's write: %s →", p.Lanes[next.lane], p.when(next.decided)))
	}
}

// label is the drawing in words.
func (p *painter) label() string {
	s := fmt.Sprintf("Timeline of %s, the lock service and the store, %s to %s.", phrase.Plural(p.Clients, "client"),
		p.labels.At(p.s.from), p.labels.At(p.s.to))
	if p.chosen != nil && p.chosen.From > 0 {
		s += fmt.Sprintf(" %s, from %s to %s.", p.chosen.Label, p.when(p.chosen.From), p.when(p.chosen.To))
	}
	return s
}

// HoldNote explains, with the story's own times, why a client that did nothing
// for long held its key all the while.
func HoldNote(r *reports.Record, t *story.Story) string {
	if t.A == nil || t.Fault == nil || t.Violation.Property != checker.MutualExclusion || t.A.LastAct <= t.Fault.To {
		return ""
	}
	return fmt.Sprintf("A hold lasts from the grant to the holder's last act: a client that acts at %s under a grant of %s has held the key all that time.", r.At(t.A.LastAct), r.At(t.A.End))
}
