//go:build linux

package hosts

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// linkAddr is the link address of the host with that address: of our own
// choice, readable in a packet dump, and equal from run to run.
func linkAddr(addr netip.Addr) net.HardwareAddr {
	b := addr.As4()
	return net.HardwareAddr{0x02, 0x1c, b[0], b[1], b[2], b[3]}
}

// Introduce tells the hosts of either side the link addresses of the other's, so that they need
// not ask for them. The kernel's table of those that it learns by asking has room for about a
// thousand (gc_thresh3, see arp(7)), in all namespaces of the machine together: scenarios with
// hundreds of clients would fill it, and then there is "no route to host". Entries that were told
// are not counted. Hosts of others (Attach) are left out: they know nobody, and nobody knows them.
func Introduce(near, far []*Host) error {
	for _, side := range [2][2][]*Host{{near, far}, {far, near}} {
		for _, h := range side[0] {
			if h.guest {
				continue
			}
			if err := h.Do(func() error { return h.know(side[1]) }); err != nil {
				return fmt.Errorf("introduce host %s: %w", h.Name, err)
			}
		}
	}
	return nil
}

// know adds neighbours on the host's thread.
func (h *Host) know(others []*Host) error {
	n, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer n.Close()
	eth0, err := n.LinkByName(farLink)
	if err != nil {
		return fmt.Errorf("find link %s: %w", farLink, err)
	}
	for _, o := range others {
		if o.guest || o == h {
			continue
		}
		err := n.NeighSet(&netlink.Neigh{LinkIndex: eth0.Attrs().Index, State: netlink.NUD_PERMANENT,
			IP: o.Addr.AsSlice(), HardwareAddr: linkAddr(o.Addr)})
		if err != nil {
			return fmt.Errorf("neighbour %s: %w", o.Name, err)
		}
	}
	return nil
}
