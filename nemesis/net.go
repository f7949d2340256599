package nemesis

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/netfault"
)

// Place is a host under the name that faults know it by.
type Place struct {
	Name string
	Host *hosts.Host
	// Server is what runs there, if it can be started again.
	Server Server
	// Far is the agent of the machine that the host is on, and Addr its
	// address, where that is another one. Then Host is nil.
	Far  RemoteAgent
	Addr netip.Addr
}

// Net is the network of a run, as far as faults break it. The packet filter of
// a host is opened when a fault first lies on it. Safe for concurrent use.
type Net struct {
	names  Names
	places map[string]Place

	mu      sync.Mutex
	filters map[string]*netfault.Filter
	closed  bool
}

// NewNet is the network between the nodes of the lock service, the clients and
// the store. It changes nothing yet.
func NewNet(nodes, clients []Place, store Place) *Net {
	n := &Net{places: map[string]Place{store.Name: store}, filters: map[string]*netfault.Filter{}}
	n.names.Store = store.Name
	for _, p := range nodes {
		n.names.Nodes = append(n.names.Nodes, p.Name)
		n.places[p.Name] = p
	}
	for _, p := range clients {
		n.names.Clients = append(n.names.Clients, p.Name)
		n.places[p.Name] = p
	}
	return n
}

// Join adds a client.
func (n *Net) Join(p Place) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names.Clients = append(slices.Clip(n.names.Clients), p.Name)
	n.places[p.Name] = p
}

// all are the names of all hosts.
func (n *Net) all() Names {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.names
}

// peer returns a host as a partition needs it.
func (n *Net) peer(name string) (netfault.Peer, error) {
	if at, far := n.remoteAddress(name); far {
		return netfault.Peer{Addr: at}, nil
	}
	f, err := n.filter(name)
	if err != nil {
		return netfault.Peer{}, err
	}
	return netfault.Peer{Addr: f.Host().Addr, Filter: f}, nil
}

// link returns the sender's packet filter and the receiver's address.
func (n *Net) link(c netfault.Cut) (from *netfault.Filter, to netip.Addr, err error) {
	if from, err = n.filter(c.From); err != nil {
		return nil, to, err
	}
	p, err := n.peer(c.To)
	return from, p.Addr, err
}

// remoteAddress is the address of a host on another machine.
func (n *Net) remoteAddress(name string) (at netip.Addr, far bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.places[name]
	return p.Addr, p.Host == nil && p.Addr.IsValid()
}

// filter returns the packet filter of a host.
func (n *Net) filter(name string) (*netfault.Filter, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	host := n.places[name].Host
	switch {
	case n.closed:
		return nil, fmt.Errorf("host %s: %w", name, netfault.ErrClosed)
	case host == nil && n.places[name].Addr.IsValid():
		return nil, fmt.Errorf("the fault has a part on host %s, which is on another node: %w", name, ErrMissed)
	case host == nil:
		return nil, fmt.Errorf("a fault lies on host %s, and there is none of that name", name)
	case n.filters[name] != nil:
		return n.filters[name], nil
	}
	// Not with the run's context: a fault of an interrupted run is healed by
	// who injected it, who still wants its evidence.
	f, err := netfault.Open(context.Background(), host)
	if err != nil {
		return nil, err
	}
	n.filters[name] = f
	return f, nil
}

// Close heals whatever is left, on every host.
func (n *Net) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	var errs []error
	for _, f := range n.filters {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
