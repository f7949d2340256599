package simulated

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/nemesis"
)

// injectors are the faults that exist in virtual time, each with what puts it into effect.
var injectors = map[string]func(on struckHosts, at nemesis.Site) (nemesis.InEffect, error){
	nemesis.KindPause:       freeze,
	nemesis.KindKill:        kill,
	nemesis.KindCrash:       crash,
	nemesis.KindClockJump:   skew,
	nemesis.KindClockRate:   skew,
	nemesis.KindPartition:   degrade,
	nemesis.KindDelay:       degrade,
	nemesis.KindLoss:        degrade,
	nemesis.KindDuplicate:   degrade,
	nemesis.KindReorder:     degrade,
	nemesis.KindReset:       reset,
	nemesis.KindHold:        lay,
	nemesis.KindCut:         lay,
	nemesis.KindKillAtReply: lay,
}

// inject puts a fault into effect in virtual time, as nemesis.Inject does in real time.
func (s *simulation) inject(_ context.Context, at nemesis.Site) (nemesis.InEffect, error) {
	on := struckHosts{s: s, from: s.w.Now()}
	for _, name := range at.Names() {
		on.hosts = append(on.hosts, s.hosts[name])
	}
	return injectors[at.Kind](on, at)
}

// leading names the node that leads the service.
func (s *simulation) leading(context.Context) (string, error) {
	if n := sim.Leader(s.nodes); n != nil {
		return n.Host().Name, nil
	}
	return "", fmt.Errorf("nobody leads the service: %w", nemesis.ErrMissed)
}

// struckHosts are the hosts that a fault strikes, and since when.
type struckHosts struct {
	s     *simulation
	hosts []*sim.Host
	from  int64
}

func (x *struckHosts) From() int64 { return x.from }

// ended is the effect of the fault, which ends now.
func (x *struckHosts) ended(bit bool, format string, args ...any) nemesis.Effect {
	return nemesis.Effect{From: x.from, To: x.s.w.Now(), Bit: bit, Proof: fmt.Sprintf(format, args...)}
}

// lasted is how long it has lasted so far.
func (x *struckHosts) lasted() time.Duration { return time.Duration(x.s.w.Now() - x.from) }

// names are those of the hosts.
func (x *struckHosts) names() string {
	var names []string
	for _, h := range x.hosts {
		names = append(names, h.Name)
	}
	return strings.Join(names, ", ")
}

// instantaneous is a fault that is over when it has begun.
type instantaneous struct{ nemesis.Effect }

func (o instantaneous) From() int64 { return o.Effect.From }

func (o instantaneous) Heal() (nemesis.Effect, error) { return o.Effect, nil }

// kill ends clients' processes.
func kill(on struckHosts, at nemesis.Site) (nemesis.InEffect, error) {
	for _, c := range at.Clients {
		on.s.clients[c.Number-1].kill()
	}
	return instantaneous{on.ended(true, "the simulated program was ended between two host calls")}, nil
}

// frozen are hosts on which nothing runs.
type frozen struct{ struckHosts }

func freeze(on struckHosts, _ nemesis.Site) (nemesis.InEffect, error) {
	for _, h := range on.hosts {
		h.Freeze()
	}
	return &frozen{on}, nil
}

func (f *frozen) Heal() (nemesis.Effect, error) {
	for _, h := range f.hosts {
		h.Thaw()
	}
	return f.ended(true, "no host call of %s for %v of virtual time", f.names(), f.lasted()), nil
}

// crashed are nodes whose servers are down.
type crashed struct {
	struckHosts
	nodes []*sim.Node
	keep  bool
}

func crash(on struckHosts, at nemesis.Site) (nemesis.InEffect, error) {
	c := &crashed{struckHosts: on, keep: at.Keeps()}
	for _, n := range on.s.nodes {
		if slices.Contains(on.hosts, n.Host()) {
			n.Crash()
			c.nodes = append(c.nodes, n)
		}
	}
	return c, nil
}

func (c *crashed) Heal() (nemesis.Effect, error) {
	with := "with its data"
	if !c.keep {
		with = "without its data"
	}
	for _, n := range c.nodes {
		if err := n.Restart(c.keep); err != nil {
			return c.ended(false, "%s was not started again", n.Host().Name), err
		}
	}
	return c.ended(true, "the simulated server of %s was down for %v, and started again %s", c.names(), c.lasted(),
		with), nil
}

// skewed are hosts of which one clock is wrong.
type skewed struct {
	struckHosts
	wall     bool
	readings []nemesis.ClockReading
}

func skew(on struckHosts, at nemesis.Site) (nemesis.InEffect, error) {
	k := &skewed{struckHosts: on, wall: at.Clock == nemesis.Wall}
	k.read("before")
	for _, h := range k.hosts {
		h.Skew(k.wall, func(c *sim.Clock, run func(float64)) {
			if at.Rate != 0 {
				run(at.Rate)
			} else {
				c.Jump(at.By)
			}
		})
	}
	k.read("begin")
	return k, nil
}

// read reads the clocks, at a step of the fault.
func (k *skewed) read(step string) {
	for _, h := range k.hosts {
		wall, mono := h.Off()
		k.readings = append(k.readings, nemesis.ClockReading{At: k.s.w.Now(), Host: h.Name, Wall: time.Duration(wall),
			Mono: time.Duration(mono), Step: step})
	}
}

// Readings are what the clocks showed so far.
func (k *skewed) Readings() []nemesis.ClockReading { return k.readings }

func (k *skewed) Heal() (nemesis.Effect, error) {
	k.read("end")
	var were []string
	for _, h := range k.hosts {
		wall, mono := h.Off()
		were = append(were, fmt.Sprintf("%s wall %v, mono %v", h.Name, time.Duration(wall), time.Duration(mono)))
	}
	for _, h := range k.hosts {
		h.Skew(k.wall, func(c *sim.Clock, run func(float64)) {
			run(1)
			c.Offset = 0
		})
	}
	k.read("healed")
	return k.ended(true, "the clocks were ahead by: %s", strings.Join(were, "; ")), nil
}
