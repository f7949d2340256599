package nemesis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Peers says whom the links lead to on which a fault lies, seen from its target: one
// of the words below, or any word that means nodes of the lock service (Target).
type Peers string

// The words.
const (
	// PeersAll: of a client the lock service and the store, of a node
	// everybody. It is meant where nothing is said.
	PeersAll Peers = "all"
	// PeersService: of a client every node of the lock service, of a node the other ones.
	PeersService Peers = "service"
	// PeersStore: the store, while the lock service is still reached.
	PeersStore Peers = "store"
	// PeersClients: every client. Of a node only; clients do not talk to each other.
	PeersClients Peers = "clients"
)

// Way is the direction of a fault of links, seen from its target.
type Way string

// The ways.
const (
	WayBoth Way = "both" // it is meant where nothing is said
	WayIn   Way = "in"   // what is sent to the target
	WayOut  Way = "out"  // what the target sends
)

// Names are those of a run's hosts.
type Names struct {
	Nodes, Clients []string
	Store          string
}

// OnLinks reports whether the fault lies on links, and not in processes.
func (s Spec) OnLinks() bool {
	return slices.Contains(s.kind().takes, "peers")
}

// Waits reports whether the fault waits for one request of its client, and takes effect with that.
func (s Spec) Waits() bool {
	return slices.Contains(s.kind().takes, "request")
}

// HitsLock reports whether a fault of a client's links lies between it and the
// lock service. If not, all that the lock has promised to the client stands.
func (s Spec) HitsLock() bool { return s.leadsTo() != PeersStore }

// HitsStore reports whether a fault of links lies on a link of the store.
func (s Spec) HitsStore() bool {
	to := s.leadsTo()
	return to == PeersStore || s.Aim.Target.Client() && to == PeersAll
}

// leadsTo is what the scenario says of the peers, or what it means: a request
// goes to the store or to the lock service.
func (s Spec) leadsTo() Peers {
	switch {
	case s.Peers != "":
		return s.Peers
	case s.Request.ofStore():
		return PeersStore
	case s.Request != "":
		return PeersService
	}
	return PeersAll
}

// peers chooses the hosts at the other ends of the victims' links.
func (s Spec) peers(victims []string, all Names, rng *rand.Rand) (names []string, err error) {
	client := s.Target.Client()
	switch to := s.leadsTo(); to {
	case PeersAll:
		names = slices.Clone(all.Nodes)
		if all.Store != "" {
			names = append(names, all.Store)
		}
		if !client {
			names = append(names, all.Clients...)
		}
	case PeersService:
		names = all.Nodes
	case PeersStore:
		names = []string{all.Store}
	case PeersClients:
		names = all.Clients
	default:
		names, err = Target(to).Nodes(all.Nodes, rng)
	}
	if err != nil {
		return nil, fmt.Errorf("peers: %w; or all, service, store, clients", err)
	}
	if client && s.Peers == PeersClients || !client && s.Peers == PeersStore {
		return nil, fmt.Errorf("peers %s: no link of %s leads there", s.Peers, s.Target)
	}
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(victims, n) })
	if len(names) == 0 && len(all.Nodes) == 0 && s.leadsTo() == PeersService {
		return nil, errNoService
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("peers %s: there is nobody but %s", s.leadsTo(), strings.Join(victims, ", "))
	}
	return names, nil
}

// checkWay reports whether the way is one.
func (s Spec) checkWay() error {
	if s.Way != "" && s.Way != WayBoth && s.Way != WayIn && s.Way != WayOut {
		return fmt.Errorf("unknown way %q: one of both, in (what is sent to the target), out (what it sends)", s.Way)
	}
	return nil
}

// checkLinks reports whether there are links between the target and its peers, among such nodes.
func (s Spec) checkLinks(at Setting) error {
	if err := s.checkWay(); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(0, 0))
	victims, err := s.sample(at.Nodes, rng)
	if err != nil {
		return err
	}
	_, err = s.Cuts(victims, Names{Nodes: at.Nodes, Clients: []string{"client-1", "client-2"}, Store: "store"}, rng)
	return err
}

// sample are victims like those of a run.
func (s Spec) sample(nodes []string, rng *rand.Rand) ([]string, error) {
	if s.Target.Client() {
		return []string{"client-1"}, nil
	}
	return s.Target.Nodes(nodes, rng)
}
