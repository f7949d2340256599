package reports

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// faults draws the bands of what was injected, and of stalls.
func (p *painter) faults() {
	for _, f := range p.r.faults {
		if !p.s.overlaps(f.From, f.To) {
			continue
		}
		word := f.did()
		title := fmt.Sprintf("%s %s, %s to %s: %s", clip(f.Target, clipName), word, at(f.From), at(f.To), clip(firstLine(f.Evidence), 200))
		for _, c := range f.Clients {
			if y, ok := p.laneOf(c); ok {
				p.band(f, y, word, title)
			}
		}
		if y, ok := p.laneOf(f.victim); ok && len(f.Clients) == 0 { // it lies beside the lane: the client itself, and what the lock promised it, are untouched
			p.strip(f, y+11, title)
		}
		if f.Service {
			p.band(f, p.service, clip(f.Kind, 20)+" "+f.whom(), title)
		}
		if f.Store {
			p.band(f, p.store, clip(f.Kind, 20), title)
		}
	}
}

// whom is the target in a word or two, for a band.
func (f *fault) whom() string {
	if f.Target == "" || len(f.Target) > 12 {
		return ""
	}
	return clip(f.Target, 12)
}

// strip draws a fault of a client's link to the store.
func (p *painter) strip(f *fault, y float64, title string) {
	x0, x1 := p.s.clamp(f.From), p.s.clamp(f.To)
	p.rect(x0, y, max(x1-x0, 2), 5, 2, "fault edge", title)
}

func (p *painter) band(f *fault, y float64, word, title string) {
	x0, x1 := p.s.clamp(f.From), p.s.clamp(f.To)
	class := "fault edge"
	if !f.Injected {
		class = "fault edge stall"
	}
	p.rect(x0, y-8, max(x1-x0, 2), 16, 3, class, title)
	text := word + " " + span(f.To-f.From)
	if g := p.r.byGrant[f.Holding]; g != nil {
		text = grantName(g.id, g.token) + ", " + text
	}
	if x1-x0 > float64(len(text))*6.5+14 {
		p.text(x0+8, y+4, "start", "faultink small", text)
	} else if x1-x0 > float64(len(word))*6.5+14 {
		p.text(x0+8, y+4, "start", "faultink small", word)
	}
}

// ops draws reads and writes: on the hold, and writes on the store's lane too. What became of the writes that matter is drawn last, so
// that no other covers it.
func (p *painter) ops() {
	var special []*op
	for _, o := range p.r.order {
		if o.kind != history.Read && o.kind != history.Write || o.declined || !p.s.overlaps(o.start, o.atStore()) {
			continue
		}
		y, ok := p.laneOf(o.client)
		if !ok || !p.r.harmful(o) && !o.refused && !p.more() {
			continue
		}
		x, dim := p.s.x(o.start), ""
		if g := p.r.byGrant[o.grant]; p.t != nil && g != nil && !p.cast(g) {
			dim = " dimmark"
		}
		if o.kind == history.Read {
			p.line(x, y+2, x, y+9, "readmark"+dim)
			continue
		}
		p.line(x, y-8, x, y+8, "writemark"+dim)
		if p.r.harmful(o) || o.refused {
			special = append(special, o)
			continue
		}
		p.write(o, p.s.x(o.atStore()))
	}
	slices.SortStableFunc(special, func(a, b *op) int { return p.weight(a) - p.weight(b) })
	for _, o := range special {
		p.write(o, p.s.x(o.atStore()))
	}
}

// weight orders the writes that matter: a stale one is drawn over those that only follow from it.
func (p *painter) weight(o *op) int {
	if p.r.stale[o.id] || o.refused {
		return 1
	}
	return 0
}

// write draws a write on the store's lane; its shape tells what became of it, not its colour alone.
func (p *painter) write(o *op, x float64) {
	who := fmt.Sprintf("%s, %s, %s", p.r.client(o.client), grantName(o.grant, o.token), p.r.at(o.start))
	switch {
	case o.refused:
		p.path(fmt.Sprintf("M%s %sl8 8m0 -8l-8 8", num(x-4), num(p.store-4)), "refused", "write refused: "+who)
		p.circle(x, p.store, 9, "refusedring", "write refused: "+who)
	case p.r.stale[o.id]:
		p.circle(x, p.store, 5.5, "staledot", fmt.Sprintf("stale write v%d accepted: %s", o.version, who))
		p.circle(x, p.store, 9, "stalering", "")
	case p.r.lossy[o.id]:
		p.circle(x, p.store, 5, "okdot", fmt.Sprintf("write v%d replaces a version that it has not read: %s", o.version, who))
		p.circle(x, p.store, 9, "stalering", "")
	case o.accepted():
		p.circle(x, p.store, 5, "okdot", fmt.Sprintf("write v%d accepted: %s", o.version, who))
	default:
		p.circle(x, p.store, 5, "unknowndot", "write, not in the ledger: "+who)
	}
}

// lease returns when the promise of the story's first grant ends, if that is in sight. The end of a session is the service's affair.
func (p *painter) lease() (int64, bool) {
	if p.t == nil || p.t.a == nil || p.t.v.A == nil || p.t.v.A.Promise == 0 || p.r.h.Header.Claims.Validity == "session" ||
		p.r.h.Header.Claims.NoExpiry {
		return 0, false
	}
	end := p.t.v.A.Promise
	return end, p.s.overlaps(end, end)
}

// leases marks on the service's lane where the promise of the story's first grant ends.
func (p *painter) leases() {
	end, ok := p.lease()
	if !ok {
		return
	}
	x := p.s.x(end)
	p.line(x, p.service-11, x, p.service+11, "expiry")
	anchor, dx := "start", 6.0
	if x > p.w-180 {
		anchor, dx = "end", -6
	}
	p.text(x+dx, p.service+4, anchor, "small halo", "lease of "+grantName(p.t.a.id, p.t.a.token)+" ends")
}
