package audit

import (
	"cmp"
	"slices"
)

// moment is the invocation or the answer of an op, or news (an answer without invocation), at an instant. Those of one
// instant are in the order of their places.
type moment struct {
	at    int64
	place uint64
}

// momentOf puts together what orders the moments of an instant: whether it is one of the later ones, then its order.
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

// fewMoments are sorted at once; of more each half on a processor of its own.
const fewMoments = 1 << 14

// inOrderOfTime sorts moments.
func inOrderOfTime(list []moment) {
	if slices.IsSortedFunc(list, moment.compare) {
		return
	}
	if len(list) < fewMoments {
		slices.SortFunc(list, moment.compare)
		return
	}
	first, second := slices.Clone(list[:len(list)/2]), list[len(list)/2:]
	done := make(chan struct{})
	go func() {
		slices.SortFunc(first, moment.compare)
		close(done)
	}()
	slices.SortFunc(second, moment.compare)
	<-done
	for i := range list { // what is left of the second half is never behind its own place
		if len(first) == 0 {
			return
		}
		if len(second) == 0 || first[0].compare(second[0]) <= 0 {
			list[i], first = first[0], first[1:]
		} else {
			list[i], second = second[0], second[1:]
		}
	}
}
