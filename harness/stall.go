package harness

import "math"

// span is a time in which a client was stopped on purpose (ns since the history's origin); to is 0 while it lasts.
type span struct {
	client   int32
	from, to int64
}

// unexplained returns the longest part of [from, to] in which the client was not stopped on purpose; from = to if there is
// none. Spans must be in the order of their beginnings, and those of one client do not overlap: a stopped client cannot be stopped again.
func unexplained(from, to int64, spans []span, client int32) (longFrom, longTo int64) {
	longFrom, longTo = from, from
	at := from // all before at is explained or measured
	keep := func(end int64) {
		if end-at > longTo-longFrom {
			longFrom, longTo = at, end
		}
	}
	for _, s := range spans {
		if s.client != client {
			continue
		}
		end := s.to
		if end == 0 {
			end = math.MaxInt64
		}
		if end <= at || s.from >= to {
			continue
		}
		keep(s.from)
		at = end
	}
	if at < to {
		keep(to)
	}
	return longFrom, longTo
}
