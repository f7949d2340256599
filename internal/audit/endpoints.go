package audit

import "cmp"

// The endpoints of ops, in the order in which a history tells them.

// endpoint is the invocation or the answer of an op, or news (an answer without
// invocation), at an instant. Those of one instant are in the order of their places.
type endpoint struct {
	at    int64
	place uint64
}

// endpointOf puts together what orders the endpoints of an instant: whether it is
// one of the later ones, then its order.
func endpointOf(at int64, later bool, order, op int32, answer bool) endpoint {
	m := endpoint{at, uint64(uint32(order))<<32 | uint64(op)<<1}
	if later {
		m.place |= 1 << 63
	}
	if answer {
		m.place |= 1
	}
	return m
}

func (m endpoint) op() int32 { return int32(m.place >> 1 & (1<<31 - 1)) }

func (m endpoint) answer() bool { return m.place&1 != 0 }

func (m endpoint) compare(o endpoint) int {
	if m.at != o.at {
		return cmp.Compare(m.at, o.at)
	}
	return cmp.Compare(m.place, o.place)
}
