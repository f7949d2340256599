//go:build linux

package hosts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
)

// Network is a bridge in the sandbox and the hosts joined to it. Safe for concurrent use.
type Network struct {
	prefix netip.Prefix
	own    netip.Addr
	bridge *netlink.Bridge
	joined bool // the network was there before us, and stays

	mu     sync.Mutex
	next   netip.Addr
	taken  []netip.Addr                      // addresses of others, for a network that was joined
	seats  []Seat                            // what hosts are made of, in a network without a bridge
	ways   map[netip.AddrPort]netip.AddrPort // of Lead, for hosts to come
	hosts  []*Host
	closed bool
}

// bridges are the networks that exist now, so that two of them never share addresses or a name.
var bridges struct {
	sync.Mutex
	made int
	open []*Network
}

// NewNetwork makes a bridge in the sandbox. The first address of the prefix is
// its own: from there inner reaches every host. Only IPv4 prefixes with room
// for a host are taken, and none that overlaps another open network's.
func NewNetwork(prefix netip.Prefix) (*Network, error) {
	if !inside.yes {
		return nil, fmt.Errorf("new network %s: %w", prefix, ErrOutside)
	}
	prefix = prefix.Masked()
	if !prefix.Addr().Is4() || prefix.Bits() > 29 {
		return nil, fmt.Errorf("new network %s: want an IPv4 prefix of at most 29 bits, such as %s", prefix,
			DefaultPrefix)
	}
	bridges.Lock()
	defer bridges.Unlock()
	for _, other := range bridges.open {
		if other.prefix.Overlaps(prefix) {
			return nil, fmt.Errorf("new network %s: it overlaps the open network %s: close that first", prefix,
				other.prefix)
		}
	}
	n := &Network{prefix: prefix, own: prefix.Addr().Next()}
	n.next = n.own.Next()
	if err := n.addBridge(fmt.Sprintf("lc%d", bridges.made)); err != nil {
		return nil, fmt.Errorf("new network %s: %w", prefix, err)
	}
	bridges.made++
	bridges.open = append(bridges.open, n)
	return n, nil
}

// Join returns a network whose bridge is there already, in the namespace of the caller:
// an engine's, to which its containers are joined. Hosts get addresses from first on,
// but for those that are taken. Close removes the hosts and leaves the bridge.
func Join(bridge string, prefix netip.Prefix, first netip.Addr, taken ...netip.Addr) (*Network, error) {
	fail := func(err error) (*Network, error) { return nil, fmt.Errorf("join network %s: %w", prefix, err) }
	if !Inside() {
		return fail(ErrOutside)
	}
	if prefix = prefix.Masked(); !prefix.Addr().Is4() || !prefix.Contains(first) {
		return fail(fmt.Errorf("want an IPv4 prefix, and a first address in it instead of %s", first))
	}
	link, err := netlink.LinkByName(bridge)
	if err != nil {
		return fail(fmt.Errorf("find bridge %s: %w", bridge, err))
	}
	b, ok := link.(*netlink.Bridge)
	if !ok {
		return fail(fmt.Errorf("%s is a %s, not a bridge", bridge, link.Type()))
	}
	return &Network{prefix: prefix, bridge: b, joined: true, next: first, taken: taken}, nil
}

// Prefix returns the network's range of addresses.
func (n *Network) Prefix() netip.Prefix { return n.prefix }

// Addr returns the address that inner itself has on the network; the zero Addr
// where that was joined.
func (n *Network) Addr() netip.Addr { return n.own }

// AddHost makes a host with the network's next address. Addresses are never used again.
// The links of a new host come up in the background: Await them before anything is sent.
func (n *Network) AddHost(name string) (*Host, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.bridge == nil && !n.closed {
		h, err := n.take(name)
		if err == nil {
			n.hosts = append(n.hosts, h)
		}
		return h, err
	}
	addr := n.next
	for slices.Contains(n.taken, addr) {
		addr = addr.Next()
	}
	switch {
	case n.closed:
		return nil, fmt.Errorf("add host %s: network %s: %w", name, n.prefix, ErrClosed)
	case !n.prefix.Contains(addr.Next()): // the last address is for broadcasts
		return nil, fmt.Errorf("add host %s: network %s has no address left: take a shorter prefix", name, n.prefix)
	}
	link := linkName(addr)
	if !n.joined { // where it was, links are removed at once
		link = lingering(link)
	}
	h, err := newHost(name, addr, link, n.prefix.Bits(), n.bridge)
	if err != nil {
		return nil, fmt.Errorf("add host %s (%s): %w", name, addr, err)
	}
	n.next = addr.Next()
	n.hosts = append(n.hosts, h)
	if err := h.follow(n.ways); err != nil {
		return nil, fmt.Errorf("add host %s (%s): %w", name, addr, err)
	}
	return h, nil
}

// awaitStep is how long Await leaves the kernel between two looks at a link; links take 0.5–3 ms.
const awaitStep = 200 * time.Microsecond

// Await returns when packets can flow from and to the hosts. The kernel raises a new link
// in the background: until then it silently drops what is sent, the first ARP request too,
// and that is repeated only after a second. Make all hosts first, then await them together.
func (n *Network) Await(ctx context.Context, hosts ...*Host) error {
	for _, h := range hosts {
		for {
			up, err := h.linked()
			if err != nil {
				return fmt.Errorf("await the link of host %s: %w", h.Name, err)
			}
			if up {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("await the link of host %s: not up yet: %w", h.Name, ctx.Err())
			case <-time.After(awaitStep):
			}
		}
	}
	return nil
}

// Close closes every host of the network and removes the bridge, unless it was there before.
func (n *Network) Close() error {
	n.mu.Lock()
	hosts := n.hosts
	n.hosts, n.closed = nil, true
	n.mu.Unlock()
	var errs []error
	for _, h := range hosts {
		// Their links go with the bridge and their namespaces; on a bridge of
		// others they must be gone when we say so.
		h.once.Do(func() { h.ended = h.close(n.joined) })
		errs = append(errs, h.ended)
	}
	bridges.Lock()
	defer bridges.Unlock()
	if i := slices.Index(bridges.open, n); i >= 0 {
		bridges.open = slices.Delete(bridges.open, i, i+1)
		if err := netlink.LinkDel(n.bridge); err != nil {
			errs = append(errs, fmt.Errorf("remove the bridge of network %s: %w", n.prefix, err))
		}
	}
	return errors.Join(errs...)
}

func (n *Network) addBridge(name string) error {
	quiet()
	if err := up("lo"); err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	snooping := false
	n.bridge = &netlink.Bridge{LinkAttrs: attrs, MulticastSnooping: &snooping}
	if err := netlink.LinkAdd(n.bridge); err != nil {
		return fmt.Errorf("add bridge %s (kernel module bridge?): %w", name, err)
	}
	return address(n.bridge, netip.PrefixFrom(n.own, n.prefix.Bits()))
}

// address gives a link its address and raises it.
func address(link netlink.Link, addr netip.Prefix) error {
	ip := &net.IPNet{IP: addr.Addr().AsSlice(), Mask: net.CIDRMask(addr.Bits(), addr.Addr().BitLen())}
	if err := netlink.AddrAdd(link, &netlink.Addr{IPNet: ip}); err != nil {
		return fmt.Errorf("add address %s: %w", addr, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("set %s up: %w", link.Attrs().Name, err)
	}
	return nil
}

func up(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find link %s: %w", name, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("set %s up: %w", name, err)
	}
	return nil
}

// quiet switches IPv6 off in the network namespace of the calling thread, so
// that no neighbour discovery disturbs packet counters, and keeps bridged
// packets away from the packet filter of the bridge's namespace.
func quiet() {
	for _, setting := range []struct{ path, value string }{
		{"/proc/sys/net/ipv6/conf/all/disable_ipv6", "1"},
		{"/proc/sys/net/ipv6/conf/default/disable_ipv6", "1"},
		{"/proc/sys/net/bridge/bridge-nf-call-iptables", "0"},
		{"/proc/sys/net/bridge/bridge-nf-call-ip6tables", "0"},
		{"/proc/sys/net/bridge/bridge-nf-call-arptables", "0"},
	} {
		// absent where the kernel has no such part
		_ = os.WriteFile(setting.path, []byte(setting.value), 0)
	}
}
