package netfault

import (
	"fmt"
	"net/netip"
)

// Direction is seen from the host on which the fault lies.
type Direction uint8

// The directions.
const (
	In  Direction = iota // from the peer to the host, before the host's sockets see it
	Out                  // from the host to the peer, before it leaves
)

// String returns "in" or "out".
func (d Direction) String() string {
	if d == Out {
		return "out"
	}
	return "in"
}

// Match says to which IPv4 packets a fault applies. Zero fields other than Dir match everything.
type Match struct {
	Dir      Direction
	Peer     netip.Addr // the other host
	Port     uint16     // of the host on which the fault lies; a port means TCP
	PeerPort uint16     // of the other host; a port means TCP
}

// Both returns the matches for all packets between the host and a peer, one for each direction.
func Both(peer netip.Addr) []Match { return []Match{{Dir: In, Peer: peer}, {Dir: Out, Peer: peer}} }

// String is of the form "in 10.88.0.3:6379→:40000"; what matches everything is left out.
func (m Match) String() string {
	text := m.Dir.String()
	if m.Peer.IsValid() {
		text += " " + m.Peer.String()
	}
	if m.PeerPort != 0 {
		text += fmt.Sprintf(" peer port %d", m.PeerPort)
	}
	if m.Port != 0 {
		text += fmt.Sprintf(" port %d", m.Port)
	}
	return text
}

// valid refuses what the rules, which are of the family ip, would never meet.
func (m Match) valid() error {
	if m.Dir > Out {
		return fmt.Errorf("match: unknown direction %d", m.Dir)
	}
	if m.Peer.IsValid() && !m.Peer.Unmap().Is4() {
		return fmt.Errorf("match %s: only IPv4 peers can be matched", m)
	}
	return nil
}

// meets tells the same of a packet as the rule made of exprs does in the kernel.
func (m Match) meets(p *Packet) bool {
	local, peer := p.Dst, p.Src
	if p.Dir == Out {
		local, peer = p.Src, p.Dst
	}
	switch {
	case m.Dir != p.Dir, m.Peer.IsValid() && m.Peer.Unmap() != peer.Addr():
		return false
	case m.Port == 0 && m.PeerPort == 0:
		return true
	}
	return p.TCP && (m.Port == 0 || m.Port == local.Port()) && (m.PeerPort == 0 || m.PeerPort == peer.Port())
}

// Offsets in the IPv4 and the TCP header.
const (
	offsetSource, offsetDestination         = 12, 16
	offsetSourcePort, offsetDestinationPort = 0, 2
)
