package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"github.com/lockchaos/lockchaos/internal/netfault"
)

// condition makes a kind of bad network: what it needs to be told, what it
// makes of that, and what shows that it took effect. Each is one condition, so
// that what a run shows is that condition's doing.
type condition struct {
	given      func(Spec) bool // whether it was told
	wants      string          // what it needs to be told
	conditions func(Spec) netfault.Conditions
	bit        func(netfault.Stats) bool
	words      history.FaultWords
	// draws and endsSessions are those of its Kind.
	draws        []Draw
	endsSessions bool
}

// kind is that of a bad network.
func (c condition) kind(name, about string, takes ...string) Kind {
	c.words.Doc = "delay-loss-duplicate-reorder-rate"
	return Kind{Name: name, Nodes: true, Needs: NeedsQueue, Touch: history.Touch{Words: c.words},
		takes: append([]string{"peers", "way"}, takes...), check: c.check, About: about,
		draws: c.draws, endsSessions: c.endsSessions,
		inject: func(_ context.Context, s *Site) (InEffect, error) {
			return s.Net.degrade(s.Tag, s.Spec, c, s.Names(), s.Rand)
		}}
}

// check reports whether there are such links, and such conditions.
func (c condition) check(s Spec, at Setting) error {
	if !c.given(s) {
		return fmt.Errorf("a %s needs %s", s.Kind, c.wants)
	}
	if err := c.conditions(s).Validate(); err != nil {
		return fmt.Errorf("a %s: %w", s.Kind, err)
	}
	return s.checkLinks(at)
}

// Degraded is a network that is bad between some hosts.
type Degraded struct {
	kind   string
	bit    func(netfault.Stats) bool
	links  []degraded
	gauge  *gauge
	from   int64
	effect Effect // once healed
	healed bool
}

// degraded is one link, in one direction.
type degraded struct {
	netfault.Cut
	by *netfault.Diversion
}

// degrade makes the links between the victims and their peers bad, each direction by itself, where
// the packets leave their sender. It is done in this program, packet by packet, and not by the
// kernel's netem: so it is counted what became of each, and drawn from the fault's own random
// numbers.
func (n *Net) degrade(tag string, s Spec, bad condition, victims []string, rng *rand.Rand) (*Degraded, error) {
	cuts, err := s.Cuts(victims, n.all(), rng)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Kind, err)
	}
	d := &Degraded{kind: s.Kind, bit: bad.bit}
	if d.gauge, err = n.gauge(cuts[0], s); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Kind, err)
	}
	for _, c := range cuts {
		// what one link meets does not depend on another's traffic
		own := rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
		by, err := n.degradeLink(tag, c, bad.conditions(s), own)
		if err != nil {
			_, healing := d.Heal()
			return nil, errors.Join(fmt.Errorf("%s: %w", s.Kind, err), healing)
		}
		d.links = append(d.links, degraded{c, by})
	}
	d.from = monotime.Now()
	d.gauge.start()
	return d, nil
}

func (n *Net) degradeLink(tag string, c netfault.Cut, bad netfault.Conditions, rng *rand.Rand) (*netfault.Diversion,
	error) {
	from, to, err := n.link(c)
	if err != nil {
		return nil, err
	}
	return from.Degrade(tag, bad, rng, netfault.Match{Dir: netfault.Out, Peer: to})
}

// From is since when every link was bad.
func (d *Degraded) From() int64 { return d.from }

// Heal makes the links good again. What is delayed goes on at once. The proof is what became of
// the packets; where nothing became of any, nobody was hit. A second call returns the same again.
func (d *Degraded) Heal() (Effect, error) {
	if d.healed {
		return d.effect, nil
	}
	measured := d.gauge.stop() // while the links are bad
	d.healed = true
	d.effect = Effect{From: d.from, To: monotime.Now()}
	var sum netfault.Stats
	var each []string
	var errs []error
	for _, l := range d.links {
		stats, err := l.by.Remove()
		errs = append(errs, err)
		sum = sum.Add(stats)
		each = append(each, fmt.Sprintf("%s → %s %d", l.From, l.To, stats.Seen))
	}
	d.effect.Bit = d.bit(sum)
	d.effect.Proof = sum.String() + ": " + firstOf(each)
	if measured != "" {
		d.effect.Proof += "; " + measured
	}
	if err := errors.Join(errs...); err != nil {
		return d.effect, fmt.Errorf("%s: %w", d.kind, err)
	}
	return d.effect, nil
}

// mostLinks is how many links a proof tells of one by one.
const mostLinks = 10

func firstOf(each []string) string {
	if len(each) > mostLinks {
		return strings.Join(each[:mostLinks], ", ") + fmt.Sprintf(" and %d more links", len(each)-mostLinks)
	}
	return strings.Join(each, ", ")
}
