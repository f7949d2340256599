package audit

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// promiseMargin is what a judge takes off a promise that is measured in time.
const promiseMargin = 2 * time.Millisecond

// span is a hold under one reading of the stamps: from the grant to the last instant at which it was held.
type span struct {
	begin, last int64
	open        bool // when it ended is not told
}

// crowded counts the grants that were made while as many others as the key has permits were held.
func crowded(spans []span, permits int) int {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.last, b.last)) })
	var ends []int64 // of those that last at all
	for _, s := range spans {
		if s.last > s.begin {
			ends = append(ends, s.last)
		}
	}
	slices.Sort(ends)
	n, held := 0, 0
	for _, s := range spans {
		for len(ends) > 0 && ends[0] <= s.begin { // it began before, so it is among the held ones
			ends, held = ends[1:], held-1
		}
		if held >= permits {
			n++
		}
		if s.last > s.begin {
			held++
		}
	}
	return n
}

// spans are the holds of each key when every stamp is off by err: a positive one makes holds as short as they certainly were, a negative one as long as
// they may have been.
func (t *tracer) spans(begun []int64, err int64, until int) [][]span {
	keys := make([][]span, len(t.log.keys.list))
	for _, la := range t.order {
		for i, n := range la.holds {
			h := &t.holds[n]
			s := t.span(h, begun[n], err, until)
			if i+1 < len(la.holds) && t.options.Permits == 1 && !t.options.Validity.Released {
				s.last = min(s.last, t.log.ops[t.holds[la.holds[i+1]].acquire].finish()-err)
			}
			if until == acts && s.last < s.begin {
				continue // so short that it certainly was none
			}
			keys[h.key] = append(keys[h.key], s)
		}
	}
	return keys
}

// span is one hold, without regard to its owner's next. begun is the earliest end of its acquire.
func (t *tracer) span(h *hold, begun, err int64, until int) span {
	a := &t.log.ops[h.acquire]
	s := span{begin: a.finish() + err, last: math.MinInt64}
	if h.last != 0 || a.finish() == h.last {
		s.last = h.last - err
	}
	if until >= promises {
		s.begin, s.last = min(s.begin, begun+err), max(s.last, t.promised(h, a, err))
	}
	if until == openEnds && !h.ended && !h.attempted && !h.told && t.options.Validity.TTL == 0 {
		s.last, s.open = never, true
		if h.replaced {
			s.last = max(h.last, h.until) - err
		}
	}
	return s
}

// begun is, for each hold, when a grant with a greater token was made, if that was before its own acquire ended: it was granted before that.
func (t *tracer) begun() []int64 {
	at := make([]int64, len(t.holds))
	for n := range at {
		at[n] = t.log.ops[t.holds[n].acquire].finish()
	}
	if t.options.Permits > 1 || t.options.Tokens != "fencing" {
		return at
	}
	keys := make([][]int32, len(t.log.keys.list))
	for n := range t.holds {
		if h := &t.holds[n]; h.token != 0 && !t.broken[h.key] {
			keys[h.key] = append(keys[h.key], int32(n))
		}
	}
	for _, list := range keys { // mostly with rising tokens
		slices.SortFunc(list, func(a, b int32) int { return cmp.Compare(t.holds[a].token, t.holds[b].token) })
		first := int64(never)
		for _, n := range slices.Backward(list) {
			first = min(first, at[n])
			at[n] = first
		}
	}
	return at
}

// promised is until when the lock had promised a hold.
func (t *tracer) promised(h *hold, a *op, err int64) int64 {
	end := int64(math.MinInt64)
	switch v := t.options.Validity; {
	case v.Released:
		end = never
	case v.TTL > 0 && !a.inferred:
		end = max(a.begin(), h.renewed) + int64(v.TTL-promiseMargin)
	}
	if end = min(end, h.until); end == never || end == math.MinInt64 {
		return end
	}
	return end - err
}
