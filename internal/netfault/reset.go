//go:build linux

package netfault

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Reset aborts the host's TCP connections that match (whose direction does not
// matter): the processes on the host get an error, the other ends a RST. It
// returns the connections that it hit. Listening sockets stay.
func (f *Filter) Reset(m Match) (hit []Connection, err error) {
	if err := m.valid(); err != nil {
		return nil, f.failed("reset", m.String(), err)
	}
	err = f.host.Do(func() error {
		all, err := connections()
		if err != nil {
			return err
		}
		for _, c := range all {
			if m.Peer.IsValid() && m.Peer.Unmap() != f.host.Led(c.Peer).Addr() || m.Port != 0 && m.Port != c.Local.Port() ||
				m.PeerPort != 0 && m.PeerPort != c.Peer.Port() {
				continue
			}
			was, err := destroy(c)
			if err != nil {
				return err
			}
			if was {
				hit = append(hit, c)
			}
		}
		return nil
	})
	if err != nil {
		return hit, f.failed("reset", m.String(), err)
	}
	return hit, nil
}

// TCP states (net/tcp_states.h) in which there is no connection to abort.
const (
	stateTimeWait = 6
	stateClose    = 7
	stateListen   = 10
)

// connections lists the TCP connections over IPv4 of the calling thread's namespace. Programs
// that listen on IPv6 as well, such as the JVM, have them on sockets of that family.
func connections() ([]Connection, error) {
	var all []Connection
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		sockets, err := netlink.SocketDiagTCP(family)
		// ENOENT: a kernel without IPv6
		if err != nil && (family == unix.AF_INET || !errors.Is(err, unix.ENOENT)) {
			return nil, fmt.Errorf("list connections (CONFIG_INET_DIAG?): %w", err)
		}
		for _, s := range sockets {
			local, ok := netip.AddrFromSlice(s.ID.Source)
			peer, okPeer := netip.AddrFromSlice(s.ID.Destination)
			local, peer = local.Unmap(), peer.Unmap()
			if !ok || !okPeer || !local.Is4() || !peer.Is4() || s.State == stateTimeWait || s.State == stateClose ||
				s.State == stateListen {
				continue
			}
			all = append(all, Connection{netip.AddrPortFrom(local, s.ID.SourcePort),
				netip.AddrPortFrom(peer, s.ID.DestinationPort)})
		}
	}
	return all, nil
}

// destroy aborts a connection of the calling thread's namespace; false: it has
// just ended by itself.
func destroy(c Connection) (bool, error) {
	err := netlink.SocketDestroy(net.TCPAddrFromAddrPort(c.Local), net.TCPAddrFromAddrPort(c.Peer))
	switch {
	case errors.Is(err, unix.ENOENT):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("destroy the socket %s–%s (CONFIG_INET_DIAG_DESTROY?): %w", c.Local, c.Peer, err)
	}
	return true, nil
}
