package watch

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/audit"
)

// entry is a line of the log that may still matter.
type entry struct {
	audit.Telling
	number int64
	text   []byte
}

// key is what is kept of one lock.
type key struct {
	entries []entry
	// cut is the time (ns since 1970) up to which lines were forgotten; 0: none were.
	cut int64
	// judged is how many of the entries were judged last.
	judged int
}

// until is the key as far as a time.
func (k *key) until(t int64) *key {
	old := &key{}
	for _, e := range k.entries {
		if e.At <= t {
			old.entries = append(old.entries, e)
		}
	}
	return old
}

// forgot reports whether a line is about what was forgotten: about a time that was, or about a grant
// that none of the kept lines gives.
func (k *key) forgot(e *entry) bool {
	if k.cut == 0 {
		return false
	}
	if e.At <= k.cut {
		return true
	}
	if !e.Acts || e.Ends && e.Token == 0 {
		return false // a release under no grant changes nothing
	}
	highest := int64(0)
	for i := range k.entries {
		o := &k.entries[i]
		if o.Client == e.Client && o.Holds {
			return false
		}
		highest = max(highest, o.Token)
	}
	return e.Token != 0 && e.Token <= highest
}

// waited is how long a client waited for the grant of an entry that follows these; less than 0: they do not tell.
func (k *key) waited(e *entry) time.Duration {
	for i := len(k.entries) - 1; i >= 0; i-- {
		if o := &k.entries[i]; o.Client == e.Client && o.Asks {
			return time.Duration(e.End - o.At)
		} else if o.Client == e.Client {
			break
		}
	}
	if e.End > e.At {
		return time.Duration(e.End - e.At)
	}
	return -1
}

// settle forgets what can't matter any more. It returns the time up to which it did, 0 for nothing.
func (k *key) settle(newest int64, s Settings) int64 {
	slices.SortStableFunc(k.entries, func(a, b entry) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.number, b.number)) })
	n := k.quiet(newest, s)
	if n == 0 {
		return 0
	}
	gone := k.entries[:n]
	cut := gone[n-1].At
	kept := highest(gone)
	if len(kept) == n { // all that is there is the grant with the greatest token
		return 0
	}
	k.cut = max(k.cut, cut)
	k.entries = append(slices.Clone(kept), k.entries[n:]...)
	return cut
}

// quiet returns how many of the entries, from the first, lie before the last quiet point.
func (k *key) quiet(newest int64, s Settings) (n int) {
	late, forget := int64(s.Late+2*s.Options.ClockError), int64(s.Forget)
	last := map[string]int{} // the last entry of each client
	for i := range k.entries {
		last[k.entries[i].Client] = i
	}
	released := s.Options.Validity != nil && s.Options.Validity.Released
	if v := s.Options.Validity; v != nil {
		forget = max(forget, int64(v.TTL))
	}
	several := s.Options.Reentrant || s.Options.Permits > 1
	held, waits, end := map[string]holding{}, map[string]bool{}, int64(0)
	for i := range k.entries {
		e := &k.entries[i]
		end = max(end, e.End)
		e.change(held, waits, several)
		if last[e.Client] == i && !released && newest-e.End > forget {
			delete(held, e.Client)
			delete(waits, e.Client)
		}
		apart := i+1 == len(k.entries) || k.entries[i+1].At-end > 2*int64(s.Options.ClockError)
		if len(held) == 0 && len(waits) == 0 && apart && newest-end > late {
			n = i + 1
		}
	}
	return n
}

// holding is how many grants a client has that it has not given up: newer ones, and older ones under which it was granted
// the key again. With another grant after all newer ones were given up, the older ones do not count any more.
type holding struct{ newer, older int }

// change notes who holds and who waits after an entry.
func (e *entry) change(held map[string]holding, waits map[string]bool, several bool) {
	if e.Asks {
		waits[e.Client] = true
	}
	if e.Answers {
		delete(waits, e.Client)
	}
	h := held[e.Client]
	switch {
	case e.Holds && several:
		h.newer++
	case e.Holds && h.newer > 0:
		h.older++
	case e.Holds:
		h = holding{newer: 1}
	case e.Ends && h.newer > 0:
		h.newer--
	case e.Ends:
		h.older--
	}
	if held[e.Client] = h; h.newer+h.older <= 0 {
		delete(held, e.Client)
	}
}

// highest returns the lines of the grant with the greatest token: from its acquire until its client
// gives it up or acquires again.
func highest(entries []entry) (kept []entry) {
	best := -1
	for i := range entries {
		if e := &entries[i]; e.Token > 0 && (best < 0 || e.Token > entries[best].Token) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	who := entries[best].Client
	for _, e := range entries[best:] {
		if e.Client != who {
			continue
		}
		if len(kept) > 0 && (e.Asks || e.Holds) {
			break
		}
		if kept = append(kept, e); e.Ends {
			break
		}
	}
	return kept
}
