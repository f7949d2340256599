//go:build linux

package netfault

import (
	"encoding/binary"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// exprs is the part of a rule that selects packets.
func (m Match) exprs() []expr.Any {
	addr, port, peerPort := uint32(offsetSource), uint32(offsetDestinationPort), uint32(offsetSourcePort)
	if m.Dir == Out {
		addr, port, peerPort = offsetDestination, offsetSourcePort, offsetDestinationPort
	}
	var all []expr.Any
	if m.Peer.IsValid() {
		all = append(all, compare(expr.PayloadBaseNetworkHeader, addr, m.Peer.Unmap().AsSlice())...)
	}
	if m.Port != 0 || m.PeerPort != 0 {
		all = append(all, onlyTCP()...)
	}
	if m.Port != 0 {
		all = append(all, compare(expr.PayloadBaseTransportHeader, port, binary.BigEndian.AppendUint16(nil, m.Port))...)
	}
	if m.PeerPort != 0 {
		all = append(all, compare(expr.PayloadBaseTransportHeader, peerPort,
			binary.BigEndian.AppendUint16(nil, m.PeerPort))...)
	}
	return all
}

func compare(base expr.PayloadBase, offset uint32, want []byte) []expr.Any {
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: base, Offset: offset, Len: uint32(len(want))},
		&expr.Cmp{Register: 1, Data: want},
	}
}

func onlyTCP() []expr.Any {
	return []expr.Any{&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Register: 1, Data: []byte{unix.IPPROTO_TCP}}}
}
