package director

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/nemesis"
)

// put puts a fault into effect, and returns what ends it.
func (d *Virtual) put(h *hit, p nemesis.Part, e *simEffect) (heal func() (string, bool), err error) {
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

func (d *Virtual) freeze(e *simEffect) func() (string, bool) {
	for _, one := range e.hosts {
		one.Freeze()
	}
	return func() (string, bool) {
		for _, one := range e.hosts {
			one.Thaw()
		}
		return fmt.Sprintf("no host call of %s for %v of virtual time", named(e.hosts),
			time.Duration(d.s.Sim.Now()-e.from)), true
	}
}

func named(hosts []*sim.Host) string {
	var names []string
	for _, h := range hosts {
		names = append(names, h.Name)
	}
	return strings.Join(names, ", ")
}

func (d *Virtual) crash(p nemesis.Part, e *simEffect) func() (string, bool) {
	nodes := slices.DeleteFunc(slices.Clone(d.s.Nodes),
		func(n *sim.Node) bool { return !slices.Contains(e.hosts, n.Host()) })
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
				d.s.Sim.Fail(err)
			}
		}
		return fmt.Sprintf("the simulated server of %s was down for %v, and started again %s", named(e.hosts),
			time.Duration(d.s.Sim.Now()-e.from), with), true
	}
}

func (d *Virtual) skew(p nemesis.Part, e *simEffect) func() (string, bool) {
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
				all = append(all, fmt.Sprintf("%s wall %v, mono %v", one.Name, time.Duration(wall),
					time.Duration(mono)))
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
func (d *Virtual) linksOf(h *hit, p nemesis.Part, e *simEffect) (all []*sim.Link, err error) {
	names := nemesis.Names{Store: d.s.Store.Name}
	for _, n := range d.s.Nodes {
		names.Nodes = append(names.Nodes, n.Host().Name)
	}
	for c := int32(1); c <= d.clients; c++ {
		names.Clients = append(names.Clients, d.s.Client(c).Machine().Name)
	}
	cuts, err := p.Cuts(e.info.Hosts, names, h.draws)
	for _, c := range cuts {
		all = append(all, d.s.Sim.Link(d.s.Host(c.From), d.s.Host(c.To)))
	}
	return all, err
}

// degrade makes links bad, or cuts them.
func (d *Virtual) degrade(h *hit, p nemesis.Part, e *simEffect) (func() (string, bool), error) {
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
		return fmt.Sprintf("%d segments delayed and %d not, on %d links: TCP kept the order of each connection", n.Late,
			n.Ahead, links), n.Late > 0 && n.Ahead > 0
	}
	return what, n.Dropped > 0
}

// reset resets connections. It is over at once.
func (d *Virtual) reset(h *hit, p nemesis.Part, e *simEffect) (func() (string, bool), error) {
	p.Way = nemesis.WayOut // each connection once
	links, err := d.linksOf(h, p, e)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, l := range links {
		n += l.From.ResetConnections(l.To) + l.To.ResetConnections(l.From)
		for number := int32(1); number <= d.clients; number++ {
			c := d.s.Client(number)
			if (l.From == c.Machine() && l.To == d.s.Store || l.To == c.Machine() && l.From == d.s.Store) &&
				c.ResetStore() {
				n++
			}
		}
	}
	if n == 0 {
		return nil, fmt.Errorf("reset: no connection: %w", nemesis.ErrMissed)
	}
	return func() (string, bool) { return fmt.Sprintf("connections reset: %d", n), true }, nil
}
