package audit

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/spill"
)

// promiseMargin is what a judge takes off a promise that is measured in time.
const promiseMargin = 2 * time.Millisecond

// crowded counts, by key, the grants that were made while as many others as the key has permits
// were held, and the holds that may have lasted into a later grant, for all that the history tells.
func (t *tracer) crowded(r *reading) (grants []int, lasted map[int]*lasting) {
	keys := len(t.log.Keys.List)
	grants, lasted = make([]int, keys), map[int]*lasting{}
	// before is, by key, the hold before, if something of it is open
	held, before := make([]spill.Heap[int64], keys), make([]span, keys)
	for k := range held {
		held[k].Less = cmp.Less[int64]
	}
	in := r.spans.InOrder()
	for s := in.Next(); s != nil; s = in.Next() {
		key := int(t.order[s.lane-1].key)
		if b := before[key]; b.open != settled && b.last > s.begin {
			if lasted[key] == nil {
				lasted[key] = &lasting{}
			}
			lasted[key].add(b, 1)
		}
		before[key] = *s
		ends := &held[key]
		for len(ends.Items) > 0 && ends.Items[0] <= s.begin {
			ends.Pop()
		}
		if len(ends.Items) >= t.options.Permits {
			grants[key]++
		}
		if s.last > s.begin {
			ends.Push(s.last)
		}
	}
	return grants, lasted
}

// lasting counts, by what is open of them, the holds that may have lasted into a later grant, and
// has the first of each.
type lasting struct {
	holds [whys]int
	first [whys]span
}

func (l *lasting) add(s span, n int) {
	if l.holds[s.open] == 0 {
		l.first[s.open] = s
	}
	l.holds[s.open] += n
}

// spanned adds a hold to the readings.
func (t *tracer) spanned(n int32, h *hold) {
	next, begun := int64(never), h.finish
	if h.follower > 0 && t.options.Permits == 1 && !t.options.Validity.Released {
		if next = t.holds.See(h.follower).finish; h.nested && h.last > next {
			next = never // it went on under the next one
		}
	}
	if early, ok := t.early[n]; ok {
		begun = early
	}
	for _, r := range t.readings {
		s := t.span(h, begun, r)
		if next != never {
			s.last = min(s.last, next-r.err)
		}
		if r.until != acts || s.last >= s.begin { // else it is so short that it certainly was none
			r.spans.Add(s)
		}
	}
}

// span is one hold, without regard to its owner's next. begun is the earliest end of its acquire.
func (t *tracer) span(h *hold, begun int64, r *reading) span {
	s := span{begin: h.finish + r.err, last: math.MinInt64, lane: h.lane}
	if h.last != 0 || h.finish == h.last {
		s.last = h.last - r.err
	}
	if r.until >= promises {
		s.begin, s.last = min(s.begin, begun+r.err), max(s.last, t.promised(h, r.err))
	}
	if r.until == openEnds {
		t.widen(&s, h, r.err)
	}
	return s
}

// widen makes a hold as long as it may have been, for all that the history tells.
func (t *tracer) widen(s *span, h *hold, err int64) {
	if h.since != 0 && h.since+err < s.begin {
		s.begin, s.open = h.since+err, unasked
	}
	if last := t.lastsUntil(h); last > s.last+err {
		s.last, s.open = last-err, waited
	}
	switch {
	case h.told:
	case h.gaveUp != never:
		if h.gaveUp-err > s.last {
			s.last, s.open = h.gaveUp-err, unconfirmed
		}
	case h.ended || t.options.Validity.TTL > 0:
	case h.replaced:
		s.last, s.open = max(h.last, h.until)-err, endless
	default:
		s.last, s.open = never, endless
	}
}

// lookThrough goes through the holds. It notes when those with tokens were
// asked for and made, which keys have tokens that do not rise, and whether some
// key was granted to more owners than it has permits.
func (t *tracer) lookThrough() {
	keys := len(t.log.Keys.List)
	// untidy: a hold came after one with a greater token, or one that ended later
	last, untidy := make([]item, keys), make([]bool, keys)
	first, grants := make([]int32, keys), make([]int, keys)
	for n := range t.holds.Each(0, t.holds.Length) {
		h := t.holds.See(n)
		owner := t.order[h.lane-1].owner
		if grants[h.key]++; t.options.Permits > 1 {
			t.excluded = t.excluded || grants[h.key] > t.options.Permits
		} else {
			t.excluded = t.excluded || grants[h.key] > 1 && first[h.key] != owner
		}
		first[h.key] = owner
		if h.token == 0 {
			continue
		}
		x := item{h.token, h.begin, h.finish, h.key}
		untidy[h.key] = untidy[h.key] || x.token < last[h.key].token || x.end < last[h.key].end
		if last[h.key] = x; !h.inferred {
			t.grants.add(x)
		}
	}
	for key, n := range t.grants.overtaken(keys, 2*int64(t.options.ClockError), false) {
		t.broken[key] = t.broken[key] || n > 0
	}
	if t.options.Permits == 1 && t.options.Tokens == "fencing" && slices.Contains(untidy, true) {
		t.findEarly(untidy)
	}
}

// findEarly finds holds of untidy keys that were certainly made before their
// acquires ended: a grant with a greater token was made by then.
func (t *tracer) findEarly(untidy []bool) {
	type granted struct {
		token     history.Token
		at        int64
		key, hold int32
	}
	byToken := spill.NewSorter(t.log.room, func(a, b granted) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(b.token, a.token))
	})
	defer byToken.Close()
	for n := range t.holds.Each(0, t.holds.Length) {
		if h := t.holds.See(n); h.token != 0 && untidy[h.key] && !t.broken[h.key] {
			byToken.Add(granted{h.token, h.finish, h.key, n})
		}
	}
	first, key, in := int64(never), int32(-1), byToken.InOrder()
	for g := in.Next(); g != nil; g = in.Next() {
		if g.key != key {
			first, key = never, g.key
		}
		if first < g.at {
			t.early[g.hold] = first
		}
		first = min(first, g.at)
	}
}

// lastsUntil is until when the lock may have promised a hold whose client may
// have waited before the attempt that succeeded.
func (t *tracer) lastsUntil(h *hold) int64 {
	ttl := t.options.Validity.TTL
	if ttl == 0 || h.inferred {
		return math.MinInt64
	}
	return min(h.until, max(t.counted(h), h.renewed)+int64(ttl-promiseMargin))
}

// promised is until when the lock had promised a hold.
func (t *tracer) promised(h *hold, err int64) int64 {
	end := int64(math.MinInt64)
	switch v := t.options.Validity; {
	case v.Released:
		end = never
	case v.TTL > 0 && !h.inferred:
		end = max(h.begin, h.renewed) + int64(v.TTL-promiseMargin)
	}
	if end = min(end, h.until); end == never || end == math.MinInt64 {
		return end
	}
	return end - err
}
