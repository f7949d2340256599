package runtimes

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/hosts/remote"
	"github.com/lockchaos/lockchaos/internal/probe"
)

// gathered are the nodes of a cluster, in the place of the one server that was given of a service.
type gathered struct {
	of    backends.Kind
	nodes []remote.Node
}

// replaces reports whether the nodes came in place of the one.
func (c gathered) replaces(n remote.Node) bool {
	return n.Name == c.of.Entry().Name || c.of.Alone && c.of.Has(n.Name)
}

// soleServer returns the one server that was given of a service; false: there is none, or there are
// several.
func (g *Servers) soleServer(of backends.Kind) (n remote.Node, is bool) {
	entry := of.Entry()
	n, is = g.nodes[entry.Name]
	is = is && len(g.Missing(of)) == 0
	for name, other := range g.nodes {
		is = is && (g.specs[name].Speaks() != entry.Speaks() || samePlace(other, n))
	}
	return n, is
}

// Gather asks servers that were given alone for their clusters. The nodes of these come in their
// place.
func (g *Servers) Gather(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reachLimit)
	defer cancel()
	for _, of := range backends.Kinds() {
		n, is := g.soleServer(of)
		if !of.Clusters && !of.Promotes() || !is {
			continue
		}
		nodes, err := g.gather(ctx, of, n)
		if err != nil {
			return fmt.Errorf("%s at %s: %w", n.Name, n.Shown, err)
		}
		if len(nodes) > 0 {
			g.clusters = append(g.clusters, gathered{of, nodes})
		}
	}
	g.asked = true
	return nil
}

// cluster are the nodes of a service that is a cluster; none: it is not known to be one.
func (g *Servers) cluster(of backends.Kind) []remote.Node {
	for _, c := range g.clusters {
		if c.of.Name == of.Name {
			return c.nodes
		}
	}
	return nil
}

// clusterOf is the cluster that a node is of. One that was given by itself may have the name of
// another's.
func (g *Servers) clusterOf(n remote.Node) (c gathered, is bool) {
	for _, c := range g.clusters {
		if slices.ContainsFunc(c.nodes, func(one remote.Node) bool { return one.Name == n.Name && one.Shown == n.Shown }) {
			return c, true
		}
	}
	return c, false
}

func (g *Servers) gather(ctx context.Context, of backends.Kind, n remote.Node) (nodes []remote.Node, err error) {
	if n.Address == "" {
		if err := g.speaks(ctx, n); err != nil {
			return nil, err
		}
	}
	service, _ := g.kindOf(n)
	found, err := endpoint.Parse(cmp.Or(n.Address, n.Shown))
	if err == nil && found.Sentinel() {
		if found, err = probe.AsSentinel(ctx, found, g.dial); err != nil {
			err = service.Explain(found, err)
		}
	}
	if err != nil {
		return nil, err
	}
	members, err := service.Members(ctx, found, g.dial)
	if err != nil || len(members) == 0 {
		return nil, err
	}
	for _, m := range members {
		if m.Unmet != nil {
			g.notes = append(g.notes, fmt.Sprintf("%s at %s is one place for all its members, so faults of links lie on those to all of them: member %q: %v; to have each by itself, name each (%s=ADDRESS,…)",
				of.Name, n.Shown, m.At, m.Unmet, strings.Join(of.Numbered(len(members)), "=ADDRESS,")))
			return nil, nil
		}
	}
	if of.Shards && found.Database() != "" && found.Database() != "0" {
		return nil, fmt.Errorf("a cluster has no database but 0: leave /%s out of the address", found.Database())
	}
	first := slices.IndexFunc(members, func(m probe.Member) bool { return m.Sentinel })
	for i, m := range members {
		at := service.At(found, m)
		if strings.ContainsFunc(at.Host(), notInNames) {
			return nil, fmt.Errorf("the cluster announces %q, which is no name of a host", m.At)
		}
		if ip, err := netip.ParseAddr(at.Host()); err == nil && !ip.Is4() {
			return nil, fmt.Errorf("the cluster announces %q: the private network has no addresses of IPv6", m.At)
		}
		name := fmt.Sprintf("%s-%d", of.Nodes[0].Speaks(), i+1)
		if m.Sentinel {
			name = fmt.Sprintf("sentinel-%d", i-first+1)
		}
		nodes = append(nodes, g.member(name, of.Nodes[0].Port, at, m))
	}
	if !slices.ContainsFunc(nodes, func(n remote.Node) bool { return slices.Contains(n.Leads, found.HostPort()) }) {
		nodes[0].Leads = append(nodes[0].Leads, found.HostPort()) // as good as any
	}
	return nodes, nil
}

// member is one node of a cluster. port is where its relay listens, if clients are given no URL.
func (g *Servers) member(name string, port int, at endpoint.Endpoint, m probe.Member) remote.Node {
	n := remote.Node{Name: name, Port: port, Shown: at.String(), Leads: []string{m.At}, Dial: g.dials(at)}
	if at.Scheme() != "" {
		n.Address = at.Address()
		n.Port, _ = strconv.Atoi(at.Port())
	}
	for _, other := range m.Also {
		if ip, err := netip.ParseAddr(at.At(other).Host()); err != nil || ip.Is4() {
			n.Leads = append(n.Leads, other)
		}
	}
	return n
}

// unclustered says why a lock cannot be on a cluster; "": it can.
func unclustered(kind clients.Kind, service backends.Kind) string {
	switch {
	case service.Promotes():
		return "a lock that finds its primary by sentinels needs these, and a Redis Cluster has none"
	case len(service.Nodes) > 1:
		return "a lock that asks for a majority needs servers that are independent of each other, and the nodes of a Redis Cluster are not"
	case kind.Claims.MultiKey > 1:
		return "a lock of several keys at once needs them on one server, and a Redis Cluster spreads keys over its nodes"
	}
	return ""
}

// notInNames reports whether a character can be in no name or address of a host. What servers
// announce is written into a file of hosts.
func notInNames(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.:", r)
}
