package remote

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/internal/hosts/agent"
)

// spare are addresses that no network has (RFC 2544). A name that leads to several relays, by its
// ports, has one of them.
var spare = netip.MustParsePrefix("198.18.0.0/15")

// lead has all addresses under which servers send clients on lead to their relays. It adds to the
// names.
func lead(nodes []Node, joined agent.Joined, names map[string]netip.Addr) error {
	byHost, err := led(nodes, joined)
	if err != nil || len(byHost) == 0 {
		return err
	}
	ways, next := map[netip.AddrPort]netip.AddrPort{}, spare.Addr()
	for _, host := range slices.Sorted(maps.Keys(byHost)) {
		ports := byHost[host]
		at, err := netip.ParseAddr(host)
		switch relay := straight(ports); {
		case err == nil:
		case relay.IsValid():
			names[host] = relay
			continue
		default:
			next = next.Next()
			at, names[host] = next, next
		}
		for port, relay := range ports {
			ways[netip.AddrPortFrom(at, port)] = relay
		}
	}
	return joined.Network.Lead(ways)
}

// led are the relays by the addresses that lead to them. Where several nodes announce one address,
// it leads to the node of which it is the first, or else to the first node.
func led(nodes []Node, joined agent.Joined) (map[string]map[uint16]netip.AddrPort, error) {
	byHost := map[string]map[uint16]netip.AddrPort{}
	for _, others := range []bool{false, true} {
		for i, n := range nodes {
			relay := netip.AddrPortFrom(joined.Nodes[i].Host.Addr, uint16(n.Port))
			announced := n.Leads[:min(len(n.Leads), 1)]
			if others {
				announced = n.Leads[len(announced):]
			}
			for _, at := range announced {
				host, port, err := splitPort(at)
				if err != nil {
					return nil, err
				}
				if byHost[host] == nil {
					byHost[host] = map[uint16]netip.AddrPort{}
				}
				if _, taken := byHost[host][port]; !taken {
					byHost[host][port] = relay
				}
			}
		}
	}
	return byHost, nil
}

// straight is the one relay to which all ports lead that it has itself; the zero Addr: there are
// others.
func straight(ports map[uint16]netip.AddrPort) (at netip.Addr) {
	for port, relay := range ports {
		if at.IsValid() && at != relay.Addr() || port != relay.Port() {
			return netip.Addr{}
		}
		at = relay.Addr()
	}
	return at
}

// splitPort takes host:port apart.
func splitPort(at string) (host string, port uint16, err error) {
	host, text, err := net.SplitHostPort(at)
	if err != nil {
		return "", 0, err
	}
	n, err := net.LookupPort("tcp", text)
	if err != nil {
		return "", 0, fmt.Errorf("%s: %w", at, err)
	}
	return strings.ToLower(host), uint16(n), nil
}
