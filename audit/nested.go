package audit

import (
	"fmt"
	"slices"
	"strings"
)

// A log of a lock that is not reentrant may grant a key to a client that has not given it up. That client is two in truth, such as two threads of one
// pod, or the lock had forgotten it, or is reentrant. Nobody knows which, so such a log never passes. What the client does later still counts: once it has
// given up the newer grant, the rest is about the older one.

// tally counts lines of one kind.
type tally struct {
	n     int
	first int32 // the line of the first
}

func (c *tally) add(line int32) {
	if c.n == 0 {
		c.first = line
	}
	c.n++
}

// grantedTwice notes that an owner is granted a key under a grant that it has not given up.
func (t *tracer) grantedTwice(h *hold, o *op) {
	ttl := int64(t.options.Validity.TTL)
	if h.told || h.attempted || h.inferred || ttl > 0 && max(h.counted, h.renewed)+ttl <= o.begin() {
		return // it was over
	}
	h.nested = true
	if t.twice.add(o.endLine); t.twice.n == 1 {
		t.twiceBefore, t.twiceWho, t.twiceKey = t.log.ops.see(h.acquire).endLine, o.owner, o.key
	}
}

// deepestNest is how many grants back an owner's op may be about.
const deepestNest = 64

// outer is the hold that an op is about where its owner has given up all newer ones; -1: there is none. With another grant since, an op may just as well
// come twice, and shows nothing.
func (t *tracer) outer(la *lane, token int64) int32 {
	if la.newest < 0 || !t.holds.at(la.newest).ended {
		return -1
	}
	for n, depth := t.holds.at(la.newest).before, 0; n >= 0 && depth < deepestNest; depth++ {
		h := t.holds.at(n)
		switch {
		case !h.nested:
			return -1
		case !h.ended && (token == 0 || h.token == 0 || h.token == token):
			return n
		}
		n = h.before
	}
	return -1
}

// reopened makes the outer hold that an op is about the open one again, and reports whether there is one.
func (t *tracer) reopened(la *lane, token int64) bool {
	n := t.outer(la, token)
	if n < 0 {
		return false
	}
	la.open = append(la.open, n)
	return true
}

// openLines says which lines leave it open who held the lock; empty: none do.
func (t *tracer) openLines() string {
	why := slices.Clone(t.log.open)
	if t.twice.n > 0 {
		why = append(why, fmt.Sprintf("%s made to a client that had not given up the one before, the first to %s on %s in line %d, after line %d: two threads may have one name (--map client=COLUMN+COLUMN), or the lock is reentrant (--reentrant).",
			counted(t.twice.n, "grant")+was(t.twice.n), t.log.owners.list[t.twiceWho], t.log.keys.list[t.twiceKey], t.twice.first, t.twiceBefore))
	}
	if t.idle.n > 0 {
		why = append(why, fmt.Sprintf("%s about a grant that the history does not have, the first in line %d: who held the lock then is not told.",
			counted(t.idle.n, "line")+map[bool]string{true: " is", false: " are"}[t.idle.n == 1], t.idle.first))
	}
	if t.misfits.n > 0 {
		why = append(why, fmt.Sprintf("%s another token than the grant that its client holds, the first in line %d. If the number is that of a write and not of a grant, say --tokens version.",
			counted(t.misfits.n, "line")+map[bool]string{true: " has", false: " have"}[t.misfits.n == 1], t.misfits.first))
	}
	return strings.Join(why, " ")
}
