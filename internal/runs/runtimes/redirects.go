package runtimes

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/hosts/remote"
	"github.com/lockchaos/lockchaos/internal/probe"
)

// soleNode is the one node of the service that may be a cluster; false: there is none, or it is one
// of several that were given.
func (g *Servers) soleNode() (of backends.Kind, n remote.Node, given bool) {
	for _, of = range backends.Kinds() {
		if of.Clusters {
			n, given = g.nodes[of.Nodes[0].Name]
			for name, other := range g.programs {
				given = given && (name == n.Name || other != of.Nodes[0].Program)
			}
			return of, n, given
		}
	}
	return of, n, false
}

// Gather asks a server that was given alone for its cluster. The nodes of one come in its place.
func (g *Servers) Gather(ctx context.Context) error {
	of, n, given := g.soleNode()
	if !given {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, reachLimit)
	defer cancel()
	err := g.gather(ctx, of, n)
	if err != nil {
		err = fmt.Errorf("%s at %s: %w", n.Name, n.Shown, err)
	}
	return err
}

func (g *Servers) gather(ctx context.Context, of backends.Kind, n remote.Node) error {
	if n.Address == "" {
		if err := g.speaks(ctx, n); err != nil {
			return err
		}
	}
	service, _ := probe.Lookup(g.programs[n.Name].Name)
	found, err := endpoint.Parse(cmp.Or(n.Address, n.Shown))
	if err != nil {
		return err
	}
	members, err := service.Members(ctx, found, g.dial)
	if err != nil || len(members) == 0 {
		return err
	}
	if found.Database() != "" && found.Database() != "0" {
		return fmt.Errorf("a cluster has no database but 0: leave /%s out of the address", found.Database())
	}
	for i, m := range members {
		one := g.member(fmt.Sprintf("%s-%d", of.Name, i+1), found, m)
		if ip, err := netip.ParseAddr(probe.At(found, m.At).Host()); err == nil && !ip.Is4() {
			return fmt.Errorf("the cluster announces %s: the private network has no addresses of IPv6", m.At)
		}
		g.cluster = append(g.cluster, one)
	}
	if !slices.ContainsFunc(g.cluster, func(n remote.Node) bool { return slices.Contains(n.Leads, found.HostPort()) }) {
		g.cluster[0].Leads = append(g.cluster[0].Leads, found.HostPort()) // as good as any
	}
	return nil
}

// member is one node of a cluster that was found at an address.
func (g *Servers) member(name string, found endpoint.Endpoint, m probe.Member) remote.Node {
	at := probe.At(found, m.At)
	n := remote.Node{Name: name, Shown: at.String(), Address: at.Address(), Leads: []string{m.At}, Dial: g.dials(at)}
	n.Port, _ = strconv.Atoi(at.Port())
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
