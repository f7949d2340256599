package watch

import (
	"cmp"
	"slices"
)

// mostKept is how many lines of a key are kept before those of holds that go on are thinned, too.
const mostKept = 10_000

func (s *Settings) most() int { return cmp.Or(s.mostKept, mostKept) }

// settle forgets what can't matter any more. It returns the time up to which it did, 0 for nothing.
//
// Up to a point at which no client holds the key, all holds have ended, and no later line can prove
// anything about them: only requests that are still open stay. A key with more than mostKept lines
// may never be free. Then settle also forgets up to a point at which clients hold the key. Of each
// of their holds the grant and the last line stay; the lines between were judged, and a later line
// that proves that the hold went on proves no more than with them. A hold that has ended stays if
// it went on after the last line of a hold that still does: a later line of that one may prove that
// both were held at once. The last one that ended stays, too: what is written under an older grant
// after it is stale. If these are too many, they are forgotten as well, and crowded says so.
func (k *key) settle(newest int64, s Settings) (cut int64, crowded bool) {
	slices.SortStableFunc(k.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.At, b.At),
			cmp.Compare(a.number, b.number))
	})
	h := holders{settings: s, newest: newest, final: map[string]int{}, fine: map[string]bool{}}
	for i := range k.entries {
		e := &k.entries[i]
		h.final[e.Client], h.fine[e.Client] = i, h.fine[e.Client] || e.Latest == e.End
	}
	n, old := h.points(k.entries)
	if len(k.entries)-n > s.most() {
		n = old
	}
	if n == 0 {
		return 0, false
	}
	gone := k.entries[:n]
	keep, ended := h.upTo(gone)
	if len(ended) > s.most() {
		ended, crowded = nil, true
	}
	keep = append(append(append(keep, ended...), highest(gone)...), renewedLater(k.entries, n)...)
	slices.Sort(keep)
	keep = slices.Compact(keep)
	if len(keep) == n { // all that is there must stay
		return 0, false
	}
	kept := make([]entry, 0, len(keep)+len(k.entries)-n)
	for _, i := range keep {
		kept = append(kept, gone[i])
	}
	cut = gone[n-1].At
	k.cut = max(k.cut, cut)
	k.entries = append(kept, k.entries[n:]...)
	return cut, crowded
}

// span is what a client has of a key: a request, or holds. All numbers are indexes of entries.
type span struct {
	asked int      // the open request; -1: none
	holds [][2]int // the grants that it holds: the request, -1 for none, and the grant
	last  int      // its last line
	inner bool     // the newest of several grants was given up
}

// lines are those of a span that must stay.
func (s *span) lines() (all []int) {
	all = []int{s.asked}
	for _, hold := range s.holds {
		all = append(all, hold[0], hold[1], s.last)
	}
	return slices.DeleteFunc(all, func(i int) bool { return i < 0 })
}

// holders follows who holds a key and who waits for it, entry by entry.
type holders struct {
	settings Settings
	newest   int64
	open     map[string]*span
	final    map[string]int  // the last entry of each client
	fine     map[string]bool // clients with a stamp that is no whole second
	held     int             // how many clients hold the key
	ended    []span          // what was held
}

// points returns how many of the entries, from the first, lie before the last time at which
// the key was free, and before the last time at all, about which no line may still come.
func (h *holders) points(entries []entry) (free, old int) {
	h.open, h.held, h.ended = map[string]*span{}, 0, nil
	end, errs := int64(0), int64(h.settings.Options.ClockError)
	for i := range entries {
		e := &entries[i]
		if end = max(end, e.End); !h.fine[e.Client] {
			end = max(end, e.Latest)
		}
		h.take(i, e)
		if h.newest-end <= h.settings.slack() {
			break
		}
		if i+1 < len(entries) && entries[i+1].At-end <= 2*errs {
			continue
		}
		if old = i + 1; h.held == 0 {
			free = old
		}
	}
	return free, old
}

// upTo returns which of the entries must stay when all of them are forgotten: keep,
// and the lines of ended holds that later lines may still prove something about.
func (h *holders) upTo(entries []entry) (keep, ended []int) {
	h.open, h.held, h.ended = map[string]*span{}, 0, nil
	for i := range entries {
		h.take(i, &entries[i])
	}
	silent := len(entries) // the last line of the holder that has been silent for longest
	for _, s := range h.open {
		keep = append(keep, s.lines()...)
		if len(s.holds) > 0 {
			silent = min(silent, s.last)
		}
	}
	for i := range h.ended {
		if s := &h.ended[i]; s.last > silent || silent < len(entries) && i == len(h.ended)-1 {
			ended = append(ended, s.lines()...)
		}
	}
	return keep, ended
}

// take notes who holds and who waits after an entry. A client that is silent
// for long after it holds no more, unless only a release ends a grant.
func (h *holders) take(i int, e *entry) {
	s := h.open[e.Client]
	if s == nil {
		s = &span{asked: -1}
		h.open[e.Client] = s
	}
	s.last = i
	o := h.settings.Options
	several := o.Reentrant || o.Permits > 1
	switch {
	case e.Asks:
		s.asked = i
	case e.Holds || e.Renews && len(s.holds) == 0: // that of which the grant is not told
		if len(s.holds) == 0 {
			h.held++
		} else if !several && (s.inner || len(s.holds) == mostNested) { // what it held before has ended, though no line says so
			s.holds = nil
		}
		s.holds = append(s.holds, [2]int{s.asked, i})
		s.asked, s.inner = -1, false
	case e.Answers:
		s.asked = -1
	case e.Ends:
		h.end(s, true)
	}
	if h.final[e.Client] == i && h.silent(e) {
		s.asked = -1
		h.end(s, false)
	}
	if len(s.holds) == 0 && s.asked < 0 {
		delete(h.open, e.Client)
	}
}

// silent reports whether a client that wrote nothing after an entry counts as gone.
func (h *holders) silent(e *entry) bool {
	v, forget := h.settings.Options.Validity, int64(h.settings.Forget)
	if v != nil {
		forget = max(forget, int64(v.TTL))
	}
	return h.newest-e.End > forget && (v == nil || !v.Released)
}

// mostNested is how many grants of a client are followed that has not given up the ones before.
const mostNested = 16

// end ends a client's last grant, or all that it holds.
func (h *holders) end(s *span, last bool) {
	if last && len(s.holds) > 1 {
		s.holds, s.inner = s.holds[:len(s.holds)-1], true
		return
	}
	s.inner = false
	if len(s.holds) > 0 {
		h.held--
		h.ended = append(h.ended, span{asked: -1, holds: s.holds, last: s.last})
	}
	s.holds = nil
}

// renewedLater returns which of the first n lines must stay for later renewals: those of the last
// hold of a client that renews without a grant. Without them it seems to hold since before the log.
func renewedLater(entries []entry, n int) (keep []int) {
	held, renews := map[string]bool{}, map[string]bool{}
	for i := range entries[n:] {
		e := &entries[n+i]
		held[e.Client] = held[e.Client] || e.Holds
		renews[e.Client] = renews[e.Client] || e.Renews && !held[e.Client]
	}
	last := map[string]bool{}
	for i := n - 1; i >= 0; i-- {
		e := &entries[i]
		if !renews[e.Client] {
			continue
		}
		if !last[e.Client] || e.Holds {
			keep = append(keep, i)
		}
		last[e.Client], renews[e.Client] = true, !e.Holds
	}
	return keep
}

// highest returns which lines of the grant with the greatest token must stay:
// those by which its client got it, its last act, and its end.
func highest(entries []entry) (keep []int) {
	best := -1
	for i := range entries {
		if e := &entries[i]; e.Token > 0 && (best < 0 || e.Token > entries[best].Token) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	last := best
	for i := best + 1; i < len(entries); i++ {
		e := &entries[i]
		if e.Client != entries[best].Client {
			continue
		}
		if e.Holds {
			break
		}
		if e.Asks {
			continue // another thread of it waits
		}
		if last = i; e.Ends {
			break
		}
	}
	return []int{best, last}
}
