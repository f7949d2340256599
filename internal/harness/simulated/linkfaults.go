package simulated

import (
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/nemesis"
)

// linksOf are the links on which a fault lies, each once.
func (s *simulation) linksOf(at nemesis.Site, spec nemesis.Spec) (all []*sim.Link, err error) {
	names := nemesis.Names{Store: s.store.Name}
	for _, n := range s.nodes {
		names.Nodes = append(names.Nodes, n.Host().Name)
	}
	for _, c := range s.clients {
		names.Clients = append(names.Clients, c.machine.Name)
	}
	cuts, err := spec.Cuts(at.Names(), names, at.Rand)
	for _, c := range cuts {
		all = append(all, s.w.Link(s.hosts[c.From], s.hosts[c.To]))
	}
	return all, err
}

// degraded are links that are bad, or cut.
type degraded struct {
	struckHosts
	spec   nemesis.Spec
	links  []*sim.Link
	before []sim.Counts
}

func degrade(on struckHosts, at nemesis.Site) (nemesis.InEffect, error) {
	links, err := on.s.linksOf(at, at.Spec)
	if err != nil {
		return nil, err
	}
	d := &degraded{struckHosts: on, spec: at.Spec, links: links}
	for _, l := range links {
		d.before = append(d.before, l.Counts)
	}
	d.change(1)
	return d, nil
}

// change makes the links worse by the fault, or better again (sign -1).
func (d *degraded) change(sign int) {
	for _, l := range d.links {
		switch d.spec.Kind {
		case nemesis.KindPartition:
			l.Cut += sign
		case nemesis.KindLoss:
			l.Loss += float64(sign) * d.spec.Probability
		case nemesis.KindDuplicate:
			l.Double += float64(sign) * d.spec.Probability
		case nemesis.KindReorder:
			l.Detour += time.Duration(sign) * d.spec.Delay
			l.Overtake += float64(sign) * d.spec.Probability
		default:
			l.Delay += time.Duration(sign) * d.spec.Delay
			l.Jitter += time.Duration(sign) * d.spec.Jitter
		}
	}
}

func (d *degraded) Heal() (nemesis.Effect, error) {
	d.change(-1)
	var n sim.Counts
	for i, l := range d.links {
		n = n.Plus(l.Less(d.before[i]))
	}
	what, bit := segmentCounts(d.spec.Kind, n, len(d.links))
	return d.ended(bit, "%s", what), nil
}

// segmentCounts says in words what segments met, and reports whether the fault took effect.
func segmentCounts(kind string, n sim.Counts, links int) (what string, bit bool) {
	what = fmt.Sprintf("%d segments dropped, %d delayed, on %d links", n.Dropped, n.Late, links)
	switch kind {
	case nemesis.KindDelay:
		return what, n.Late > 0
	case nemesis.KindDuplicate:
		return fmt.Sprintf("%d segments sent twice, on %d links: TCP took each once", n.Doubled, links), n.Doubled > 0
	case nemesis.KindReorder:
		return fmt.Sprintf("%d segments delayed and %d not, on %d links: TCP kept the order of each connection", n.Late,
			n.Ahead, links), n.Late > 0 && n.Ahead > 0
	}
	return what, n.Dropped > 0
}

// reset resets connections. It is over at once.
func reset(on struckHosts, at nemesis.Site) (nemesis.InEffect, error) {
	once := at.Spec
	once.Way = nemesis.WayOut // each connection once
	links, err := on.s.linksOf(at, once)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, l := range links {
		n += l.From.ResetConnections(l.To) + l.To.ResetConnections(l.From)
		for _, c := range on.s.clients {
			if (l.From == c.machine && l.To == on.s.store || l.To == c.machine && l.From == on.s.store) && c.resetStore() {
				n++
			}
		}
	}
	if n == 0 {
		return nil, fmt.Errorf("reset: no connection: %w", nemesis.ErrMissed)
	}
	return instantaneous{on.ended(true, "connections reset: %d", n)}, nil
}
