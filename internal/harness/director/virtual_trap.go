package director

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/internal/netfault"
	"github.com/lockchaos/lockchaos/nemesis"
)

// simTrap is a fault that waits for a request.
type simTrap struct {
	d      *Virtual
	h      *hit
	p      nemesis.Part
	e      *simEffect
	links  []*sim.Link // both ways
	sprung int
	held   []*sim.Segment
	over   bool
}

// lay waits for the request that a fault is aimed at.
func (d *Virtual) lay(h *hit, p nemesis.Part, e *simEffect) error {
	there := p
	there.Way = nemesis.WayOut
	links, err := d.linksOf(h, there, e)
	if err != nil {
		return err
	}
	t := &simTrap{d: d, h: h, p: p, e: e}
	client := h.clients()[0]
	link := p.Decides(d.traps.asked(client))
	for _, l := range links {
		decide := link()
		back := d.s.Sim.Link(l.To, l.From)
		l.Trap = func(s *sim.Segment) sim.Verdict { return t.decided(decide, s, l, netfault.Out) }
		back.Trap = func(s *sim.Segment) sim.Verdict { return t.decided(decide, s, back, netfault.In) }
		t.links = append(t.links, l, back)
	}
	d.laidTraps[client] = t
	if p.When != nemesis.Acquiring {
		d.RoundOver(client) // it may be over already
	}
	return nil
}

func (t *simTrap) decided(decide netfault.Decide, s *sim.Segment, l *sim.Link, dir netfault.Direction) sim.Verdict {
	if len(s.Bytes) == 0 || t.over {
		return sim.Pass
	}
	port := uint16(s.Conn)
	local, peer := l.From, l.To
	if dir == netfault.In {
		local, peer = peer, local
	}
	src, dst := netip.AddrPortFrom(netip.MustParseAddr(local.Addr), port),
		netip.AddrPortFrom(netip.MustParseAddr(peer.Addr), 1)
	if dir == netfault.In {
		src, dst = dst, src
	}
	fate := decide(&netfault.Packet{At: t.d.s.Sim.Now(), Dir: dir, Src: src, Dst: dst, Size: len(s.Bytes), TCP: true,
		Payload: s.Bytes})
	switch {
	case fate.Hold:
		t.held = append(t.held, s)
		t.spring(fmt.Sprintf("%d bytes, %s → %s", len(s.Bytes), l.From.Name, l.To.Name))
		return sim.Hold
	case fate.Drop && t.p.Kills():
		if t.sprung++; t.sprung == 1 {
			t.d.s.Sim.After(0, func() {
				t.kill(fmt.Sprintf("the reply to %s, %d bytes, %s → %s, was lost", t.p.Requested(), len(s.Bytes),
					l.From.Name, l.To.Name))
			})
		}
		return sim.Hold
	case fate.Reset:
		t.spring(fmt.Sprintf("the connection %s – %s was reset, and %d bytes were lost", l.From.Name, l.To.Name,
			len(s.Bytes)))
		t.d.s.Sim.After(0, func() { t.d.s.Client(t.h.clients()[0]).Wake() })
		return sim.Break
	}
	return sim.Pass
}

// kill ends the client at whose packet the trap has sprung.
func (t *simTrap) kill(what string) {
	d := t.d
	t.h.turned(t.p, true)
	t.remove()
	delete(d.laidTraps, t.h.clients()[0])
	t.e.from = d.s.Sim.Now()
	d.killAll(t.h, t.p, t.e, what)
	d.finish(t.h, nil)
	d.wakeClients()
}

// spring begins the fault: its packet has come.
func (t *simTrap) spring(what string) {
	if t.sprung++; t.sprung > 1 {
		return
	}
	d := t.d
	t.h.turned(t.p, true)
	t.e.from = d.s.Sim.Now()
	t.e.info.From = d.rec.Relative(t.e.from)
	d.beginOf(t.e)
	t.e.heal = func() (string, bool) {
		t.remove()
		for _, s := range t.held {
			s.Release()
		}
		if len(t.held) > 0 {
			what += fmt.Sprintf(": held for %v, then delivered", time.Duration(d.s.Sim.Now()-t.e.from))
		}
		return string(t.p.Request) + ": " + what, true
	}
	d.s.Sim.After(t.p.For, func() {
		delete(d.laidTraps, t.h.clients()[0])
		d.healed(t.e, t.p)
		d.finish(t.h, nil)
		d.wakeClients()
	})
}

// remove takes the trap away.
func (t *simTrap) remove() {
	t.over = true
	for _, l := range t.links {
		l.Trap = nil
	}
}
