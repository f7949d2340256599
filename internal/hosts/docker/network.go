package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/vishvananda/netlink"
)

// bridge is a network of the engine, and which of its addresses are for what.
type bridge struct {
	id, name string // name is that of the Linux bridge, too
	prefix   netip.Prefix
	first    netip.Addr   // of the hosts that are plugged in
	taken    []netip.Addr // by containers, from there on
}

// A scenario's network has room for a thousand addresses: containers in the lower half,
// which the engine gives out, hosts in the upper half, which we do. The ranges that we try
// lie in a part of the private addresses that is seldom used; 256 networks fit side by side.
const (
	networkBits = 22
	networks    = 256
)

// candidate is the i-th range of addresses that a network may have.
func candidate(i uint32) netip.Prefix {
	i %= networks
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(89 + i/64), byte(i % 64 * 4), 0}), networkBits)
}

// halves returns the lower half of a range, and the first address of the upper one.
func halves(p netip.Prefix) (lower netip.Prefix, upper netip.Addr) {
	b := p.Masked().Addr().As4()
	bit := p.Bits() // the first one that a host may choose
	b[bit/8] |= 0x80 >> (bit % 8)
	return netip.PrefixFrom(p.Masked().Addr(), p.Bits()+1), netip.AddrFrom4(b)
}

// makeNetwork makes the bridge of a scenario, with the first range that nothing here uses.
func (e *Engine) makeNetwork(ctx context.Context, scenario string) (*bridge, error) {
	used, err := ranges()
	if err != nil {
		return nil, err
	}
	from := e.networks.Add(1) - 1
	for i := range uint32(networks) {
		prefix := candidate(from + i)
		if slices.ContainsFunc(used, prefix.Overlaps) {
			continue
		}
		b, err := e.tryNetwork(ctx, scenario, prefix)
		if err == nil {
			return b, nil
		}
		// Another network of the engine's may have it although no interface does yet.
		if !strings.Contains(err.Error(), "overlap") && !strings.Contains(err.Error(), "conflicts with network") {
			return nil, fmt.Errorf("make a network for the scenario: %w", err)
		}
	}
	return nil, errors.New("make a network for the scenario: every range of addresses from 10.89.0.0 to 10.92.255.255 is in use; " +
		"remove networks that are not needed: lockchaos clean, docker network prune")
}

func (e *Engine) tryNetwork(ctx context.Context, scenario string, prefix netip.Prefix) (*bridge, error) {
	lower, upper := halves(prefix)
	a := prefix.Addr().As4()
	name := fmt.Sprintf("lcb%02x%02x%02x%02x", a[0], a[1], a[2], a[3])
	made, err := e.client.NetworkCreate(ctx, "lockchaos-"+scenario, client.NetworkCreateOptions{
		Driver: "bridge", Labels: map[string]string{labelOwner: e.owner.String(), labelScenario: scenario},
		Options: map[string]string{"com.docker.network.bridge.name": name,
			"com.docker.network.bridge.enable_ip_masquerade": "false"},
		IPAM: &network.IPAM{Config: []network.IPAMConfig{{Subnet: prefix, IPRange: lower,
			Gateway: prefix.Addr().Next()}}},
	})
	if err != nil {
		return nil, err
	}
	return &bridge{id: made.ID, name: name, prefix: prefix, first: upper}, nil
}

// ranges are those that the machine reaches by other ways than its default route.
func ranges() (used []netip.Prefix, err error) {
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return nil, fmt.Errorf("read the machine's routes: %w", err)
	}
	for _, r := range routes {
		if r.Dst == nil {
			continue
		}
		addr, ok := netip.AddrFromSlice(r.Dst.IP.To4())
		bits, _ := r.Dst.Mask.Size()
		if ok && bits > 0 {
			used = append(used, netip.PrefixFrom(addr, bits))
		}
	}
	return used, nil
}
