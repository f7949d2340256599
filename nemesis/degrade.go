package nemesis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

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
	c.words.Doc = cmp.Or(c.words.Doc, "delay-loss-duplicate-reorder-rate")
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
	gauge  *roundTripMeter
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
	if d.gauge, err = n.measureRoundTrip(cuts[0], s); err != nil {
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

// shortestDelay is the least time after which a fault strikes into a call: less
// than the fastest service needs to answer.
const shortestDelay = 20 * time.Microsecond

// Delay draws how long after the call was sent a fault strikes it, at most longest.
// Each order of magnitude is as likely as any other: whether a call takes a fraction
// of a millisecond or waits for seconds, some strikes fall into its decisive instant.
func Delay(rng *rand.Rand, longest time.Duration) time.Duration {
	if longest <= shortestDelay {
		return longest
	}
	return time.Duration(float64(shortestDelay) * math.Pow(float64(longest)/float64(shortestDelay), rng.Float64()))
}

// KindLoss is the fault that loses packets.
const KindLoss = "loss"

var loss = condition{
	given:      func(s Spec) bool { return s.Probability > 0 },
	wants:      "probability: that of a packet to be lost, up to 1",
	conditions: func(s Spec) netfault.Conditions { return netfault.Conditions{Loss: s.Probability} },
	bit:        func(n netfault.Stats) bool { return n.Dropped > 0 },
	words: history.FaultWords{Did: "on a lossy link", Bar: "lossy", Links: "are lost now and then",
		Over: "loses no packets any more"},
	draws: []Draw{{Weight: 2, of: func(d Dice) Part {
		p := d.onHolder()
		p.Probability = 0.5
		return p
	}}},
	endsSessions: true,
}.kind(KindLoss, "loses packets between a client or nodes and their peers, each with the same probability",
	"probability")

// KindDuplicate is the fault that sends packets twice.
const KindDuplicate = "duplicate"

var duplicate = condition{
	given:      func(s Spec) bool { return s.Probability > 0 },
	wants:      "probability: that of a packet to be sent twice, up to 1",
	conditions: func(s Spec) netfault.Conditions { return netfault.Conditions{Duplicate: s.Probability} },
	bit:        func(n netfault.Stats) bool { return n.Copied > 0 },
	words: history.FaultWords{Did: "sent duplicates", Bar: "doubled", Links: "arrive twice",
		Over: "gets each packet once again"},
}.kind(KindDuplicate, "sends packets between a client or nodes and their peers twice, each with the same probability",
	"probability")

// KindReorder is the fault that lets packets overtake others.
const KindReorder = "reorder"

var reorder = condition{
	given:      func(s Spec) bool { return s.Probability > 0 && s.Probability < 1 && s.Delay > 0 },
	wants:      "delay, and the probability, below 1, of a packet not to be delayed, so that it overtakes those that are",
	conditions: func(s Spec) netfault.Conditions { return netfault.Conditions{Delay: s.Delay, Reorder: s.Probability} },
	bit:        func(n netfault.Stats) bool { return n.Delayed > 0 && n.Seen > n.Delayed },
	words: history.FaultWords{Did: "sent packets out of order", Bar: "reordered",
		Links: "arrive out of order", Over: "gets its packets in order again"},
}.kind(KindReorder, "delays packets between a client or nodes and their peers, but for some, which overtake the others",
	"delay", "probability")

// KindRate is the fault that leaves links little bandwidth.
const KindRate = "rate"

var rate = condition{
	given:      func(s Spec) bool { return s.BytesPerSecond > 0 },
	wants:      "bytes_per_second: how much each link carries, headers included",
	conditions: func(s Spec) netfault.Conditions { return netfault.Conditions{Rate: s.BytesPerSecond} },
	bit:        func(n netfault.Stats) bool { return n.Delayed > 0 },
	words: history.FaultWords{Did: "on a slow link", Bar: "slowed", Links: "get only so much bandwidth",
		Over: "has all its bandwidth again"},
}.kind(KindRate, "bounds how many bytes a second the links between a client or nodes and their peers carry",
	"bytes_per_second")

// KindDelay is the fault that makes packets late.
const KindDelay = "delay"

var delay = condition{
	given:      func(s Spec) bool { return s.Delay > 0 },
	wants:      "delay: how late each packet is",
	conditions: func(s Spec) netfault.Conditions { return netfault.Conditions{Delay: s.Delay, Jitter: s.Jitter} },
	bit:        func(n netfault.Stats) bool { return n.Delayed > 0 },
	words:      history.FaultWords{Did: "delayed", Links: "are delayed", Over: "is reached at once again"},
	draws: []Draw{
		{Weight: 2, of: func(d Dice) Part {
			p := d.onHolder()
			p.Delay, p.Jitter = d.share(0.02, 0.4, 1), d.share(0, 0.02, 0)
			return p
		}},
		{Weight: 2, of: func(d Dice) Part {
			p := aimed(d.nodes(), Random, d.share(1, 3, nodeFloor))
			p.Delay = d.share(0.02, 0.3, 1)
			return p
		}},
	},
}.kind(KindDelay, "makes every packet between a client or nodes and their peers late, both ways or one, by a fixed time or with jitter", "delay", "jitter")

// KindBlackHole is the fault that loses what is larger than some packets.
const KindBlackHole = "black-hole"

// blackHole is a path whose MTU is smaller than its ends believe, and which does not say so
// (RFC 2923, section 2.1): what is small arrives, so a connection stays up and heartbeats pass, and
// what is large never does.
var blackHole = condition{
	given:      func(s Spec) bool { return s.MaxBytes > 0 },
	wants:      "max_bytes: the size of the largest packets that arrive, headers included",
	conditions: func(s Spec) netfault.Conditions { return netfault.Conditions{MaxBytes: s.MaxBytes} },
	bit:        func(n netfault.Stats) bool { return n.Dropped > 0 },
	words: history.FaultWords{Did: "behind a black hole", Bar: "black hole", Links: "are lost if they are large",
		Over: "gets large packets again", Doc: "black-hole"},
	endsSessions: true,
}.kind(KindBlackHole, "loses all packets of more than so many bytes between a client or nodes and their peers: small ones pass",
	"max_bytes")
