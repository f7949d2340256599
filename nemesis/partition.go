package nemesis

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/netfault"
)

// KindPartition is the fault that cuts links.
const KindPartition = "partition"

var partition = Kind{Name: KindPartition, Nodes: true, Needs: NeedsFilter, endsSessions: true,
	takes: []string{"peers", "way", "shape"}, check: checkPartition, Touch: history.Touch{Severs: true,
		Words: history.FaultWords{Did: "cut off", Links: "are dropped", Over: "is reached again",
			Plight: "was cut off from the lock service", Doc: "partition"}},
	About: "cuts a client or nodes from their peers, both ways or one, or splits the service into a shape: every packet between them is dropped",
	draws: []Draw{
		{Weight: 6, of: func(d Dice) Part {
			p := d.onHolder()
			p.Peers, p.Way = pick(d, PeersAll, PeersStore, PeersService), pick(d, WayBoth, WayIn, WayOut)
			if p.Peers == PeersService {
				p.When = BeforeRelease
			}
			return p
		}},
		// From everybody: a client of ZooKeeper talks to one member alone.
		{Weight: 4, of: func(d Dice) Part {
			return aimed(pick(d, oneNode, Leader, Primary), Random,
				d.share(1, 3, nodeFloor))
		}},
	},
	inject: func(_ context.Context, s *Site) (InEffect, error) {
		return s.Net.partition(s.Tag, s.Spec, s.Names(), s.Rand)
	}}

// shapes are the ways in which a service is split, as Jepsen's nemeses do it.
var shapes = map[string]netfault.Shape{
	"isolate-one":       netfault.IsolateOne,
	"halves":            netfault.Halves,
	"majority-minority": netfault.MajorityMinority,
	"majorities-ring":   netfault.MajoritiesRing,
	"bridge":            netfault.Bridge,
	"one-way":           netfault.OneWayOne,
}

// Cuts chooses the cuts of a partition between the victims and their peers, or inside
// the service. It is a pure function: the same random numbers choose the same.
func (s Spec) Cuts(victims []string, all Names, rng *rand.Rand) ([]netfault.Cut, error) {
	if s.Target == Service {
		cuts := shapes[s.Shape](all.Nodes, rng)
		if len(cuts) == 0 {
			return nil, fmt.Errorf("a service of %d nodes (%s) can't be split into %s", len(all.Nodes),
				strings.Join(all.Nodes, ", "), s.Shape)
		}
		return cuts, nil
	}
	peers, err := s.peers(victims, all, rng)
	if err != nil {
		return nil, err
	}
	switch s.Way {
	case WayIn:
		return netfault.OneWay(peers, victims), nil
	case WayOut:
		return netfault.OneWay(victims, peers), nil
	}
	return netfault.Between(victims, peers), nil
}

// checkPartition reports whether there are such cuts among such nodes.
func checkPartition(s Spec, at Setting) error {
	known := slices.Sorted(maps.Keys(shapes))
	switch {
	case s.Target == Service && !slices.Contains(known, s.Shape):
		return fmt.Errorf("a partition of the service needs a shape: one of %s; not %q", strings.Join(known, ", "),
			s.Shape)
	case s.Target == Service && (s.Peers != "" || s.Way != ""):
		return fmt.Errorf("the shape %s says who is cut from whom: no peers or way beside it", s.Shape)
	case s.Target != Service && s.Shape != "":
		return fmt.Errorf("a shape is for target %s, not %q", Service, s.Target)
	}
	return s.checkLinks(at)
}

// partitioned is a set of cuts that are in place.
type partitioned struct{ *netfault.Partition }

// partition cuts the victims from their peers, or splits the service.
func (n *Net) partition(tag string, s Spec, victims []string, rng *rand.Rand) (*partitioned, error) {
	cuts, err := s.Cuts(victims, n.all(), rng)
	if err != nil {
		return nil, fmt.Errorf("partition: %w", err)
	}
	p, err := n.cut(tag, cuts)
	if err != nil {
		return nil, err
	}
	return &partitioned{p}, nil
}

// cut puts cuts in place between hosts that are known by name.
func (n *Net) cut(tag string, cuts []netfault.Cut) (_ *netfault.Partition, err error) {
	peers := map[string]netfault.Peer{}
	for _, c := range cuts {
		for _, name := range []string{c.From, c.To} {
			if peers[name], err = n.peer(name); err != nil {
				return nil, err
			}
		}
	}
	return netfault.StartPartition(tag, cuts, peers)
}

// From is since when every cut was in place.
func (p *partitioned) From() int64 { return p.Partition.From }

// Heal takes the cuts away. The proof is the packets that each has dropped;
// without a packet nobody was hit.
func (p *partitioned) Heal() (Effect, error) {
	severed, err := p.Partition.Heal()
	if err != nil {
		err = fmt.Errorf("partition: %w", err)
	}
	return Effect{From: severed.From, To: severed.To, Bit: severed.Packets() > 0, Proof: severed.String()}, err
}
