//go:build linux

package hosts

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// waysTable names the table of a host's ways. It goes with the host's network.
const waysTable = "lockchaos-ways"

// Lead has connections to an address lead to another one: those of hosts that are made from now
// on, and of inner itself. Programs go on seeing the address that they connect to, which may be any
// of IPv4, those of the loopback among them; on the links between hosts there is only the other.
func (n *Network) Lead(ways map[netip.AddrPort]netip.AddrPort) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.bridge == nil || n.joined {
		return fmt.Errorf("lead addresses on network %s to others: it is not our own", n.prefix)
	}
	n.ways = ways
	return lead(ways, n.bridge.Name, n.own)
}

// Led is where a connection of the host to the address leads.
func (h *Host) Led(to netip.AddrPort) netip.AddrPort {
	if other, ok := h.ways[to]; ok {
		return other
	}
	return to
}

// follow makes the ways the host's.
func (h *Host) follow(ways map[netip.AddrPort]netip.AddrPort) error {
	if len(ways) == 0 {
		return nil
	}
	h.ways = ways
	return h.Do(func() error { return lead(ways, farLink, h.Addr) })
}

// lead makes the ways in the namespace of the calling thread, whose link has the address.
func lead(ways map[netip.AddrPort]netip.AddrPort, link string, own netip.Addr) error {
	for _, setting := range []struct{ path, value string }{
		// what comes back for an address of the loopback comes in on the link
		{"/proc/sys/net/ipv4/conf/all/route_localnet", "1"},
		// a packet that a fault has held is late, and no stranger for that
		{"/proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal", "1"},
	} {
		if err := os.WriteFile(setting.path, []byte(setting.value), 0); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("lead addresses to others: %w", err)
		}
	}
	if err := reroute(ways, link); err != nil {
		return err
	}
	conn, err := nftables.New()
	if err != nil {
		return fmt.Errorf("lead addresses to others: open nf_tables: %w", err)
	}
	t := conn.AddTable(&nftables.Table{Name: waysTable, Family: nftables.TableFamilyIPv4})
	out := conn.AddChain(&nftables.Chain{Name: "out", Table: t, Type: nftables.ChainTypeNAT,
		Hooknum: nftables.ChainHookOutput, Priority: nftables.ChainPriorityNATDest})
	for to, other := range ways {
		conn.AddRule(&nftables.Rule{Table: t, Chain: out, Exprs: way(to, other)})
	}
	post := conn.AddChain(&nftables.Chain{Name: "post", Table: t, Type: nftables.ChainTypeNAT,
		Hooknum: nftables.ChainHookPostrouting, Priority: nftables.ChainPriorityNATSource})
	conn.AddRule(&nftables.Rule{Table: t, Chain: post, Exprs: fromLoopback(link, own)})
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("lead addresses to others (kernel modules nf_nat, nft_chain_nat?): %w", err)
	}
	return nil
}

// reroute lets connections to the addresses begin: the kernel looks for a route before it leads
// them elsewhere.
func reroute(ways map[netip.AddrPort]netip.AddrPort, link string) error {
	on, err := netlink.LinkByName(link)
	if err != nil {
		return fmt.Errorf("find link %s: %w", link, err)
	}
	for to := range ways {
		if to.Addr().IsLoopback() {
			continue
		}
		route := &netlink.Route{LinkIndex: on.Attrs().Index, Scope: netlink.SCOPE_LINK,
			Dst: &net.IPNet{IP: to.Addr().AsSlice(), Mask: net.CIDRMask(32, 32)}}
		if err := netlink.RouteAdd(route); err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("add a route to %s: %w", to.Addr(), err)
		}
	}
	return nil
}

// Where a TCP packet over IPv4 has what ways go by.
const (
	offsetSource, offsetDestination = 12, 16 // in the IP header
	offsetDestinationPort           = 2      // in the TCP header
)

// way is a rule that leads connections to an address elsewhere.
func way(to, other netip.AddrPort) []expr.Any {
	port := binary.BigEndian.AppendUint16(nil, to.Port())
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Register: 1, Data: []byte{unix.IPPROTO_TCP}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: offsetDestination, Len: 4},
		&expr.Cmp{Register: 1, Data: to.Addr().AsSlice()},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: offsetDestinationPort, Len: 2},
		&expr.Cmp{Register: 1, Data: port},
		&expr.Immediate{Register: 1, Data: other.Addr().AsSlice()},
		&expr.Immediate{Register: 2, Data: binaryutil.BigEndian.PutUint16(other.Port())},
		&expr.NAT{Type: expr.NATTypeDestNAT, Family: unix.NFPROTO_IPV4, RegAddrMin: 1, RegProtoMin: 2},
	}
}

// fromLoopback is a rule that gives what leaves by the link its address, where the kernel chose one
// of the loopback as the sender's.
func fromLoopback(link string, own netip.Addr) []expr.Any {
	name := make([]byte, unix.IFNAMSIZ)
	copy(name, link)
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyOIFNAME, Register: 1},
		&expr.Cmp{Register: 1, Data: name},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: offsetSource, Len: 1},
		&expr.Cmp{Register: 1, Data: []byte{127}},
		&expr.Immediate{Register: 1, Data: own.AsSlice()},
		&expr.NAT{Type: expr.NATTypeSourceNAT, Family: unix.NFPROTO_IPV4, RegAddrMin: 1},
	}
}
