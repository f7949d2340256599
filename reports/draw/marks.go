package draw

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/story"
)

// faults draws the bands of what was injected, and of stalls.
func (p *painter) faults() {
	for _, f := range p.r.Faults {
		if !p.s.overlaps(f.From, f.To) {
			continue
		}
		word := story.Did(f)
		title := fmt.Sprintf("%s %s, %s to %s: %s", phrase.Clip(f.Target, phrase.MostName), word, phrase.At(f.From), phrase.At(f.To), phrase.Clip(phrase.FirstLine(f.Evidence), 200))
		for _, c := range f.Clients {
			if y, ok := p.laneOf(c); ok {
				p.band(f, y, word, title)
			}
		}
		if y, ok := p.laneOf(f.Victim); ok && len(f.Clients) == 0 { // it lies beside the lane: the client itself, and what the lock promised it, are untouched
			p.strip(f, y+11, title)
		}
		if f.Service {
			p.band(f, p.service, phrase.Clip(f.Kind, 20)+" "+whom(f), title)
		}
		if f.Store {
			p.band(f, p.store, phrase.Clip(f.Kind, 20), title)
		}
	}
}

// whom is the target in a word or two, for a band.
func whom(f *history.FaultSpan) string {
	if f.Target == "" || len(f.Target) > 12 {
		return ""
	}
	return phrase.Clip(f.Target, 12)
}

// strip draws a fault of a client's link to the store.
func (p *painter) strip(f *history.FaultSpan, y float64, title string) {
	x0, x1 := p.s.clamp(f.From), p.s.clamp(f.To)
	p.rect(x0, y, max(x1-x0, 2), 5, 2, "fault edge", title)
}

func (p *painter) band(f *history.FaultSpan, y float64, word, title string) {
	x0, x1 := p.s.clamp(f.From), p.s.clamp(f.To)
	class := "fault edge"
	if !f.Injected {
		class = "fault edge stall"
	}
	p.rect(x0, y-8, max(x1-x0, 2), 16, 3, class, title)
	text := word + " " + phrase.Span(f.To-f.From)
	if g := p.r.Grant(f.Holding); g != nil {
		text = reports.GrantName(g.ID, g.Token) + ", " + text
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
	var special []*history.Op
	for _, o := range p.r.Ops {
		if o.Kind != history.Read && o.Kind != history.Write || o.Declined || !p.s.overlaps(o.Start, o.AtStore()) {
			continue
		}
		y, ok := p.laneOf(o.Client)
		if !ok || !p.r.Harmful(o) && !o.Refused && !p.more() {
			continue
		}
		x, dim := p.s.x(o.Start), ""
		if g := p.r.Grant(o.Grant); p.t != nil && g != nil && !p.cast(g) {
			dim = " dimmark"
		}
		if o.Kind == history.Read {
			p.line(x, y+2, x, y+9, "readmark"+dim)
			continue
		}
		p.line(x, y-8, x, y+8, "writemark"+dim)
		if p.r.Harmful(o) || o.Refused {
			special = append(special, o)
			continue
		}
		p.write(o, p.s.x(o.AtStore()))
	}
	slices.SortStableFunc(special, func(a, b *history.Op) int { return p.weight(a) - p.weight(b) })
	for _, o := range special {
		p.write(o, p.s.x(o.AtStore()))
	}
}

// weight orders the writes that matter: a stale one is drawn over those that only follow from it.
func (p *painter) weight(o *history.Op) int {
	if p.r.Stale[o.ID] || o.Refused {
		return 1
	}
	return 0
}

// write draws a write on the store's lane; its shape tells what became of it, not its colour alone.
func (p *painter) write(o *history.Op, x float64) {
	who := fmt.Sprintf("%s, %s, %s", p.r.Client(o.Client), reports.GrantName(o.Grant, o.Token), p.r.At(o.Start))
	switch {
	case o.Refused:
		p.path(fmt.Sprintf("M%s %sl8 8m0 -8l-8 8", num(x-4), num(p.store-4)), "refused", "write refused: "+who)
		p.circle(x, p.store, 9, "refusedring", "write refused: "+who)
	case p.r.Stale[o.ID]:
		p.circle(x, p.store, 5.5, "staledot", fmt.Sprintf("stale write v%d accepted: %s", o.Version, who))
		p.circle(x, p.store, 9, "stalering", "")
	case p.r.Lossy[o.ID]:
		p.circle(x, p.store, 5, "okdot", fmt.Sprintf("write v%d replaces a version that it has not read: %s", o.Version, who))
		p.circle(x, p.store, 9, "stalering", "")
	case o.Accepted():
		p.circle(x, p.store, 5, "okdot", fmt.Sprintf("write v%d accepted: %s", o.Version, who))
	default:
		p.circle(x, p.store, 5, "unknowndot", "write, not in the ledger: "+who)
	}
}

// lease returns when the promise of the story's first grant ends, if that is in sight. The end of a session is the service's affair.
func (p *painter) lease() (int64, bool) {
	if p.t == nil || p.t.A == nil || p.t.Violation.A == nil || p.t.Violation.A.Promise == 0 || p.r.History.Header.Claims.Validity == "session" ||
		p.r.History.Header.Claims.NoExpiry {
		return 0, false
	}
	end := p.t.Violation.A.Promise
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
	p.text(x+dx, p.service+4, anchor, "small halo", "lease of "+reports.GrantName(p.t.A.ID, p.t.A.Token)+" ends")
}
