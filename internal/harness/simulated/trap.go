package simulated

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/internal/netfault"
	"github.com/lockchaos/lockchaos/nemesis"
)

// trap is a fault that waits for a request of a client: nemesis.Pending in virtual time.
type trap struct {
	struckHosts
	spec   nemesis.Spec
	client int32
	links  []*sim.Link // both ways
	caught int         // how many segments
	what   string      // about the first one
	held   []*sim.Segment
	done   func(sprung bool) // tells the watcher
}

// lay waits for the request that a fault is aimed at.
func lay(on struckHosts, at nemesis.Site) (nemesis.InEffect, error) {
	there := at.Spec
	there.Way = nemesis.WayOut
	links, err := on.s.linksOf(at, there)
	if err != nil {
		return nil, err
	}
	on.from = 0 // not before its packet
	t := &trap{struckHosts: on, spec: at.Spec, client: at.Clients[0].Number}
	link := at.Decides(at.CurrentRequest(t.client))
	for _, l := range links {
		decide := link()
		back := on.s.w.Link(l.To, l.From)
		l.Trap = func(seg *sim.Segment) sim.Verdict { return t.decided(decide, seg, l, netfault.Out) }
		back.Trap = func(seg *sim.Segment) sim.Verdict { return t.decided(decide, seg, back, netfault.In) }
		t.links = append(t.links, l, back)
	}
	return t, nil
}

// Watch has done called when a packet is caught, or when the waiting is given up before.
func (t *trap) Watch(_ context.Context, done func(sprung bool)) (giveUp func()) {
	t.done = done
	return func() {
		if t.caught == 0 {
			done(false)
		}
	}
}

// Met is false: where a request has been answered, none of its packets is still to come.
func (t *trap) Met() bool { return false }

// decided is what becomes of a segment on a link of the client.
func (t *trap) decided(decide netfault.Decide, seg *sim.Segment, l *sim.Link, dir netfault.Direction) sim.Verdict {
	if len(seg.Bytes) == 0 || t.links == nil {
		return sim.Pass
	}
	fate := decide(packet(t.s.w.Now(), seg, l, dir))
	switch {
	case fate.Hold:
		t.held = append(t.held, seg)
		t.spring(fmt.Sprintf("%d bytes, %s → %s", len(seg.Bytes), l.From.Name, l.To.Name))
		return sim.Hold
	case fate.Drop && t.spec.Kills():
		if t.caught++; t.caught == 1 {
			t.what = fmt.Sprintf("the reply to %s, %d bytes, %s → %s, was lost", t.spec.Requested(), len(seg.Bytes),
				l.From.Name, l.To.Name)
			t.s.w.After(0, func() { t.done(true) })
		}
		return sim.Hold
	case fate.Reset:
		t.spring(fmt.Sprintf("the connection %s – %s was reset, and %d bytes were lost", l.From.Name, l.To.Name,
			len(seg.Bytes)))
		t.s.w.After(0, func() { t.s.clients[t.client-1].task.Wake() })
		return sim.Break
	}
	return sim.Pass
}

// packet is a segment as the packet filter of its client's host sees it.
func packet(at int64, seg *sim.Segment, l *sim.Link, dir netfault.Direction) *netfault.Packet {
	local, peer := l.From, l.To
	if dir == netfault.In {
		local, peer = peer, local
	}
	src := netip.AddrPortFrom(netip.MustParseAddr(local.Addr), uint16(seg.Conn))
	dst := netip.AddrPortFrom(netip.MustParseAddr(peer.Addr), 1)
	if dir == netfault.In {
		src, dst = dst, src
	}
	return &netfault.Packet{At: at, Dir: dir, Src: src, Dst: dst, Size: len(seg.Bytes), TCP: true, Payload: seg.Bytes}
}

// spring begins the fault: its packet has come.
func (t *trap) spring(what string) {
	if t.caught++; t.caught > 1 {
		return
	}
	t.from, t.what = t.s.w.Now(), what
	t.done(true)
}

// Heal takes the trap away, and delivers what it holds.
func (t *trap) Heal() (nemesis.Effect, error) {
	t.remove()
	if t.caught == 0 {
		return nemesis.Effect{}, nil
	}
	for _, seg := range t.held {
		seg.Release()
	}
	if len(t.held) > 0 {
		t.what += fmt.Sprintf(": held for %v, then delivered", t.lasted())
	}
	return t.ended(true, "%s: %s", t.spec.Request, t.what), nil
}

// Kill ends the client at whose packet the trap has sprung.
func (t *trap) Kill(context.Context) (nemesis.Effect, error) {
	t.remove()
	t.from = t.s.w.Now()
	t.s.clients[t.client-1].kill()
	return t.ended(true, "%s", t.what), nil
}

// remove takes the trap away.
func (t *trap) remove() {
	for _, l := range t.links {
		l.Trap = nil
	}
	t.links = nil
}
