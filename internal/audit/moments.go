package audit

import "cmp"

// moment is the invocation or the answer of an op, or news (an answer without
// invocation), at an instant. Those of one instant are in the order of their places.
type moment struct {
	at    int64
	place uint64
}

// momentOf puts together what orders the moments of an instant: whether it is
// one of the later ones, then its order.
func momentOf(at int64, later bool, order, op int32, answer bool) moment {
	m := moment{at, uint64(uint32(order))<<32 | uint64(op)<<1}
	if later {
		m.place |= 1 << 63
	}
	if answer {
		m.place |= 1
	}
	return m
}

func (m moment) op() int32 { return int32(m.place >> 1 & (1<<31 - 1)) }

func (m moment) answer() bool { return m.place&1 != 0 }

func (m moment) compare(o moment) int {
	if m.at != o.at {
		return cmp.Compare(m.at, o.at)
	}
	return cmp.Compare(m.place, o.place)
}
