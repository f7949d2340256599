package nemesis

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/lockchaos/lockchaos/monotime"
	"github.com/lockchaos/lockchaos/netfault"
)

// The kinds of faults that make a bad network. Each is one condition, so that what a run shows is that condition's doing.
const (
	KindDelay     = "delay"
	KindLoss      = "loss"
	KindDuplicate = "duplicate"
	KindReorder   = "reorder"
	KindRate      = "rate"
)

// condition is a kind of bad network: what it needs to be told, what it makes of that, and what shows that it took effect.
type condition struct {
	missing    func(Spec) string // what must be given and is not
	conditions func(Spec) netfault.Conditions
	bit        func(netfault.Stats) bool
}

var conditions = map[string]condition{
	KindDelay: {
		func(s Spec) string { return orMissing(s.Delay > 0, "delay: how late each packet is") },
		func(s Spec) netfault.Conditions { return netfault.Conditions{Delay: s.Delay, Jitter: s.Jitter} },
		func(n netfault.Stats) bool { return n.Delayed > 0 }},
	KindLoss: {
		func(s Spec) string {
			return orMissing(s.Probability > 0, "probability: that of a packet to be lost, up to 1")
		},
		func(s Spec) netfault.Conditions { return netfault.Conditions{Loss: s.Probability} },
		func(n netfault.Stats) bool { return n.Dropped > 0 }},
	KindDuplicate: {
		func(s Spec) string {
			return orMissing(s.Probability > 0, "probability: that of a packet to be sent twice, up to 1")
		},
		func(s Spec) netfault.Conditions { return netfault.Conditions{Duplicate: s.Probability} },
		func(n netfault.Stats) bool { return n.Copied > 0 }},
	KindReorder: {
		func(s Spec) string {
			return orMissing(s.Probability > 0 && s.Probability < 1 && s.Delay > 0,
				"delay, and the probability, below 1, of a packet not to be delayed, so that it overtakes those that are")
		},
		func(s Spec) netfault.Conditions {
			return netfault.Conditions{Delay: s.Delay, Reorder: s.Probability}
		},
		func(n netfault.Stats) bool { return n.Delayed > 0 && n.Seen > n.Delayed }},
	KindRate: {
		func(s Spec) string {
			return orMissing(s.BytesPerSecond > 0, "bytes_per_second: how much each link carries, headers included")
		},
		func(s Spec) netfault.Conditions { return netfault.Conditions{Rate: s.BytesPerSecond} },
		func(n netfault.Stats) bool { return n.Delayed > 0 }},
}

func orMissing(given bool, what string) string {
	if given {
		return ""
	}
	return what
}

// degrading is the catalogue's entry of a bad network.
func degrading(name, about string, takes ...string) Kind {
	return Kind{Name: name, Nodes: true, Needs: NeedsQueue, takes: append([]string{"peers", "way"}, takes...), check: checkConditions, About: about}
}

// degradeKinds are the kinds of bad networks.
func degradeKinds() []Kind {
	return []Kind{
		degrading(KindDelay, "makes every packet between a client or nodes and their peers late, both ways or one, by a fixed time or with jitter", "delay", "jitter"),
		degrading(KindLoss, "loses packets between a client or nodes and their peers, each with the same probability", "probability"),
		degrading(KindDuplicate, "sends packets between a client or nodes and their peers twice, each with the same probability", "probability"),
		degrading(KindReorder, "delays packets between a client or nodes and their peers, but for some, which overtake the others", "delay", "probability"),
		degrading(KindRate, "bounds how many bytes a second the links between a client or nodes and their peers carry", "bytes_per_second"),
	}
}

// checkConditions tells whether there are such links, and such conditions.
func checkConditions(s Spec, nodes []string) error {
	c := conditions[s.Kind]
	if missing := c.missing(s); missing != "" {
		return fmt.Errorf("a %s needs %s", s.Kind, missing)
	}
	if err := c.conditions(s).Validate(); err != nil {
		return fmt.Errorf("a %s: %w", s.Kind, err)
	}
	return s.checkLinks(nodes)
}

// Degraded is a network that is bad between some hosts.
type Degraded struct {
	kind   string
	links  []degraded
	gauge  *gauge
	from   int64
	effect Effect // once healed
	healed bool
}

// degraded is one link, in one direction.
type degraded struct {
	netfault.Cut
	by *netfault.Degradation
}

// Degrade makes the links between the victims and their peers bad, each direction by itself, where the packets leave their sender. It is done in this
// program, packet by packet, even where the kernel has netem: that counts what became of each, and draws from the fault's own random numbers.
func (n *Net) Degrade(tag string, s Spec, victims []string, rng *rand.Rand) (*Degraded, error) {
	cuts, err := s.Cuts(victims, n.names, rng)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Kind, err)
	}
	d := &Degraded{kind: s.Kind}
	if d.gauge, err = n.gauge(cuts[0], s); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Kind, err)
	}
	for _, c := range cuts {
		own := rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64())) // what one link meets does not depend on another's traffic
		by, err := n.degrade(tag, c, conditions[s.Kind].conditions(s), own)
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

func (n *Net) degrade(tag string, c netfault.Cut, bad netfault.Conditions, rng *rand.Rand) (*netfault.Degradation, error) {
	from, to, err := n.link(c)
	if err != nil {
		return nil, err
	}
	return from.Degrade(tag, netfault.Queued, bad, rng, netfault.Match{Dir: netfault.Out, Peer: to})
}

// From is since when every link was bad.
func (d *Degraded) From() int64 { return d.from }

// Heal makes the links good again. What is delayed goes on at once. The proof is what became of the packets; where nothing became of any, nobody was hit.
// A second call returns the same again.
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
	d.effect.Bit = conditions[d.kind].bit(sum)
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
