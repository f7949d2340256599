package harness

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/hosts/sim"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/netfault"
)

// simulatedKinds are the faults that exist in virtual time.
var simulatedKinds = []string{nemesis.KindPause, nemesis.KindKill, nemesis.KindCrash, nemesis.KindPartition, nemesis.KindDelay, nemesis.KindLoss,
	nemesis.KindHold, nemesis.KindCut, nemesis.KindKillAtReply, nemesis.KindReset, nemesis.KindClockJump, nemesis.KindClockRate,
	nemesis.KindDuplicate, nemesis.KindReorder}

// put puts a fault into effect, and returns what ends it.
func (d *simDirector) put(h *hit, p nemesis.Part, e *simEffect) (heal func() (string, bool), err error) {
	switch {
	case p.Kind == nemesis.KindPause:
		return d.freeze(e), nil
	case p.Kind == nemesis.KindCrash:
		return d.crash(p, e), nil
	case p.OnClocks():
		d.readClocks(e, "before")
		heal = d.skew(p, e)
		d.readClocks(e, "begin")
		return heal, nil
	case p.Kind == nemesis.KindReset:
		return d.reset(h, p, e)
	}
	return d.degrade(h, p, e)
}

func (d *simDirector) freeze(e *simEffect) func() (string, bool) {
	for _, one := range e.hosts {
		one.Freeze()
	}
	return func() (string, bool) {
		for _, one := range e.hosts {
			one.Thaw()
		}
		return fmt.Sprintf("no host call of %s for %v of virtual time", named(e.hosts), time.Duration(d.s.w.Now()-e.from)), true
	}
}

func named(hosts []*sim.Host) string {
	var names []string
	for _, h := range hosts {
		names = append(names, h.Name)
	}
	return strings.Join(names, ", ")
}

func (d *simDirector) crash(p nemesis.Part, e *simEffect) func() (string, bool) {
	nodes := slices.DeleteFunc(slices.Clone(d.s.nodes), func(n *sim.Node) bool { return !slices.Contains(e.hosts, n.Host()) })
	for _, n := range nodes {
		n.Crash()
	}
	return func() (string, bool) {
		with := "with its data"
		if !p.Keeps() {
			with = "without its data"
		}
		for _, n := range nodes {
			if err := n.Restart(p.Keeps()); err != nil {
				d.s.w.Fail(err)
			}
		}
		return fmt.Sprintf("the simulated server of %s was down for %v, and started again %s", named(e.hosts), time.Duration(d.s.w.Now()-e.from), with), true
	}
}

func (d *simDirector) skew(p nemesis.Part, e *simEffect) func() (string, bool) {
	wall := p.Clock == nemesis.Wall
	for _, one := range e.hosts {
		one.Skew(wall, func(c *sim.Clock, run func(float64)) {
			if p.Rate != 0 {
				run(p.Rate)
			} else {
				c.Jump(p.By)
			}
		})
	}
	return func() (string, bool) {
		off := func() string {
			var all []string
			for _, one := range e.hosts {
				wall, mono := one.Off()
				all = append(all, fmt.Sprintf("%s wall %v, mono %v", one.Name, time.Duration(wall), time.Duration(mono)))
			}
			return strings.Join(all, "; ")
		}
		was := off()
		for _, one := range e.hosts {
			one.Skew(wall, func(c *sim.Clock, run func(float64)) {
				run(1)
				c.Offset = 0
			})
		}
		return "the clocks were ahead by: " + was, true
	}
}

// linksOf are the links on which a fault lies, each once.
func (d *simDirector) linksOf(h *hit, p nemesis.Part, e *simEffect) (all []*sim.Link, err error) {
	names := nemesis.Names{Store: d.s.store.Name}
	for _, n := range d.s.nodes {
		names.Nodes = append(names.Nodes, n.Host().Name)
	}
	for _, c := range d.s.clients {
		names.Clients = append(names.Clients, c.machine.Name)
	}
	cuts, err := p.Cuts(e.info.Hosts, names, h.draws)
	for _, c := range cuts {
		all = append(all, d.s.w.Link(d.s.hosts[c.From], d.s.hosts[c.To]))
	}
	return all, err
}

// degrade makes links bad, or cuts them.
func (d *simDirector) degrade(h *hit, p nemesis.Part, e *simEffect) (func() (string, bool), error) {
	links, err := d.linksOf(h, p, e)
	if err != nil {
		return nil, err
	}
	before := make([]sim.Counts, len(links))
	put := func(sign int) {
		for _, l := range links {
			switch {
			case p.Kind == nemesis.KindPartition:
				l.Cut += sign
			case p.Kind == nemesis.KindLoss:
				l.Loss += float64(sign) * p.Probability
			case p.Kind == nemesis.KindDuplicate:
				l.Double += float64(sign) * p.Probability
			case p.Kind == nemesis.KindReorder:
				l.Detour += time.Duration(sign) * p.Delay
				l.Overtake += float64(sign) * p.Probability
			default:
				l.Delay += time.Duration(sign) * p.Delay
				l.Jitter += time.Duration(sign) * p.Jitter
			}
		}
	}
	for i, l := range links {
		before[i] = l.Counts
	}
	put(1)
	return func() (string, bool) {
		put(-1)
		var n sim.Counts
		for i, l := range links {
			n = n.Plus(l.Less(before[i]))
		}
		return degraded(p.Kind, n, len(links))
	}, nil
}

// degraded says in words what became of segments, and reports whether the fault took effect.
func degraded(kind string, n sim.Counts, links int) (what string, bit bool) {
	what = fmt.Sprintf("%d segments dropped, %d delayed, on %d links", n.Dropped, n.Late, links)
	switch kind {
	case nemesis.KindDelay:
		return what, n.Late > 0
	case nemesis.KindDuplicate:
		return fmt.Sprintf("%d segments sent twice, on %d links: TCP took each once", n.Doubled, links), n.Doubled > 0
	case nemesis.KindReorder:
		return fmt.Sprintf("%d segments delayed and %d not, on %d links: TCP kept the order of each connection", n.Late, n.Ahead, links), n.Late > 0 && n.Ahead > 0
	}
	return what, n.Dropped > 0
}

// reset resets connections. It is over at once.
func (d *simDirector) reset(h *hit, p nemesis.Part, e *simEffect) (func() (string, bool), error) {
	p.Way = nemesis.WayOut // each connection once
	links, err := d.linksOf(h, p, e)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, l := range links {
		n += l.From.ResetConnections(l.To) + l.To.ResetConnections(l.From)
		for _, c := range d.s.clients {
			if ch := c.store.ch; (l.From == c.machine && l.To == d.s.store || l.To == c.machine && l.From == d.s.store) && ch != nil && !ch.Closed() {
				ch.Close()
				c.task.Wake()
				n++
			}
		}
	}
	if n == 0 {
		return nil, fmt.Errorf("reset: no connection: %w", nemesis.ErrMissed)
	}
	return func() (string, bool) { return fmt.Sprintf("connections reset: %d", n), true }, nil
}

// simTrap is a fault that waits for a request.
type simTrap struct {
	d      *simDirector
	h      *hit
	p      nemesis.Part
	e      *simEffect
	links  []*sim.Link // both ways
	sprung int
	held   []*sim.Segment
	over   bool
}

// lay waits for the request that a fault is aimed at.
func (d *simDirector) lay(h *hit, p nemesis.Part, e *simEffect) error {
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
		back := d.s.w.Link(l.To, l.From)
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
	src, dst := netip.AddrPortFrom(netip.MustParseAddr(local.Addr), port), netip.AddrPortFrom(netip.MustParseAddr(peer.Addr), 1)
	if dir == netfault.In {
		src, dst = dst, src
	}
	fate := decide(&netfault.Packet{At: t.d.s.w.Now(), Dir: dir, Src: src, Dst: dst, Size: len(s.Bytes), TCP: true, Payload: s.Bytes})
	switch {
	case fate.Hold:
		t.held = append(t.held, s)
		t.spring(fmt.Sprintf("%d bytes, %s → %s", len(s.Bytes), l.From.Name, l.To.Name))
		return sim.Hold
	case fate.Drop && t.p.Kills():
		if t.sprung++; t.sprung == 1 {
			t.d.s.w.After(0, func() {
				t.kill(fmt.Sprintf("the reply to %s, %d bytes, %s → %s, was lost", t.p.Requested(), len(s.Bytes), l.From.Name, l.To.Name))
			})
		}
		return sim.Hold
	case fate.Reset:
		t.spring(fmt.Sprintf("the connection %s – %s was reset, and %d bytes were lost", l.From.Name, l.To.Name, len(s.Bytes)))
		t.d.s.w.After(0, func() { t.d.s.clients[t.h.clients()[0]-1].task.Wake() })
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
	t.e.from = d.s.w.Now()
	d.killAll(t.h, t.p, t.e, what)
	d.finish(t.h, nil)
	d.wake(t.h.aimed)
	for _, c := range d.s.clients {
		c.task.Wake()
	}
}

// spring begins the fault: its packet has come.
func (t *simTrap) spring(what string) {
	if t.sprung++; t.sprung > 1 {
		return
	}
	d := t.d
	t.h.turned(t.p, true)
	t.e.from = d.s.w.Now()
	t.e.info.From = d.rec.Relative(t.e.from)
	d.beginOf(t.e)
	t.e.heal = func() (string, bool) {
		t.remove()
		for _, s := range t.held {
			s.Release()
		}
		if len(t.held) > 0 {
			what += fmt.Sprintf(": held for %v, then delivered", time.Duration(d.s.w.Now()-t.e.from))
		}
		return string(t.p.Request) + ": " + what, true
	}
	d.s.w.After(t.p.For, func() {
		delete(d.laidTraps, t.h.clients()[0])
		d.healed(t.e, t.p)
		d.finish(t.h, nil)
		d.wake(t.h.aimed)
		for _, c := range d.s.clients {
			c.task.Wake()
		}
	})
}

// remove takes the trap away.
func (t *simTrap) remove() {
	t.over = true
	for _, l := range t.links {
		l.Trap = nil
	}
}
