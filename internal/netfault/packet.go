package netfault

import (
	"encoding/binary"
	"net/netip"
)

// Connection is a TCP connection as seen from one host.
type Connection struct{ Local, Peer netip.AddrPort }

// Packet is what a Decide function sees of one IPv4 packet.
type Packet struct {
	At       int64 // when it reached us (monotime.Now stamp)
	Dir      Direction
	Src, Dst netip.AddrPort // ports of TCP and UDP only
	Size     int            // bytes, from the IP header on
	TCP      bool
	Seq, Ack uint32 // TCP
	Flags    uint8  // TCP
	Payload  []byte // of TCP and UDP; not to be changed
	raw      []byte // the IP packet as it will be sent
}

// The TCP flags that decisions look at.
const (
	FlagFIN uint8 = 1 << iota
	FlagSYN
	FlagRST
	FlagPSH
	FlagACK
)

// The protocols above IP that are read (their numbers are IANA's).
const (
	protocolTCP = 6
	protocolUDP = 17
)

// Header lengths in bytes: the shortest that there can be.
const (
	ipHeader  = 20
	udpHeader = 8
	tcpHeader = 20
)

// parse reads an IPv4 packet. What it cannot read stays zero: a later fragment
// has no ports and no payload.
func parse(raw []byte, dir Direction, at int64) Packet {
	p := Packet{At: at, Dir: dir, Size: len(raw), raw: raw}
	if len(raw) < ipHeader || raw[0]>>4 != 4 {
		return p
	}
	src, dst := netip.AddrFrom4([4]byte(raw[12:16])), netip.AddrFrom4([4]byte(raw[16:20]))
	p.Src, p.Dst = netip.AddrPortFrom(src, 0), netip.AddrPortFrom(dst, 0)
	head := int(raw[0]&15) * 4
	const fragmentOffset = 1<<13 - 1
	if head < ipHeader || len(raw) < head+udpHeader || binary.BigEndian.Uint16(raw[6:])&fragmentOffset != 0 {
		return p
	}
	l4 := raw[head:]
	source, destination := binary.BigEndian.Uint16(l4), binary.BigEndian.Uint16(l4[2:])
	switch raw[9] {
	case protocolUDP:
		p.Payload = l4[udpHeader:]
	case protocolTCP:
		if len(l4) < tcpHeader {
			return p
		}
		options := int(l4[12]>>4) * 4
		if options < tcpHeader || options > len(l4) {
			return p
		}
		p.TCP, p.Seq, p.Ack, p.Flags = true, binary.BigEndian.Uint32(l4[4:]), binary.BigEndian.Uint32(l4[8:]), l4[13]
		p.Payload = l4[options:]
	default:
		return p
	}
	p.Src, p.Dst = netip.AddrPortFrom(src, source), netip.AddrPortFrom(dst, destination)
	return p
}

// Connection returns the two ends of the packet's connection: that of the host
// on which the queue is, and the peer's.
func (p *Packet) Connection() Connection {
	if p.Dir == Out {
		return Connection{Local: p.Src, Peer: p.Dst}
	}
	return Connection{Local: p.Dst, Peer: p.Src}
}

// answers reports whether the packet goes the opposite way of an earlier one,
// on the same connection.
func (p *Packet) answers(other *Packet) bool { return p.Src == other.Dst && p.Dst == other.Src }

// end is the sequence number behind the segment's last byte.
func (p *Packet) end() uint32 { return p.Seq + uint32(len(p.Payload)) }

// repeats reports whether a TCP segment bears bytes that an earlier one bears: it
// is a retransmission, in whole or in part.
func (p *Packet) repeats(earlier *Packet) bool {
	return p.TCP && len(p.Payload) > 0 && p.Src == earlier.Src && p.Dst == earlier.Dst &&
		before(p.Seq, earlier.end()) && before(earlier.Seq, p.end())
}

// before compares sequence numbers, which wrap around (RFC 9293, 3.4).
func before(a, b uint32) bool { return int32(a-b) < 0 }

// gaugePort is where round trips are measured: nobody is expected to listen there.
const gaugePort = 7360

// gauges reports whether the packet is one of RoundTrip's.
func (p *Packet) gauges() bool {
	return p.TCP && (p.Src.Port() == gaugePort || p.Dst.Port() == gaugePort)
}
