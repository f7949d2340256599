package audit

import (
	"fmt"
	"strings"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/remarks"
)

// A log of a lock that is not reentrant may grant a key to a client that has not given it
// up. That client is two in truth, such as two threads of one pod, or the lock had forgotten
// it, or is reentrant. Nobody knows which, so such a log never passes. What the client does
// later still counts: once it has given up the newer grant, the rest is about the older one.

// grantedTwice notes that an owner is granted a key under a grant that it has not given up.
func (t *tracer) grantedTwice(h *hold, o *op) {
	ttl := int64(t.options.Validity.TTL)
	until := max(t.counted(h), h.renewed) + ttl
	if t.options.Delayed || h.told || h.attempted || h.inferred || ttl > 0 && until <= o.begin() {
		return // it was over, or its process was: a fault may have ended that
	}
	// only if it certainly went on: what the owner does later is then about this grant
	h.nested = ttl == 0 || until-2*(t.slack(t.log.grains.key(h.key))+o.cut.Cut()) > o.begin()
	if t.twice.Add(o.EndLine); t.twice.N == 1 {
		t.twiceWho, t.twiceKey = o.Owner, o.Key
	}
}

// deepestNest is how many grants back an owner's op may be about.
const deepestNest = 64

// outer is the hold that an op is about where its owner has given up all newer ones; -1: there
// is none. With another grant since, an op may just as well come twice, and shows nothing.
func (t *tracer) outer(la *ownerOnKey, token history.Token) int32 {
	if la.newest < 0 || !t.holds.At(la.newest).ended {
		return -1
	}
	for n, depth := t.holds.At(la.newest).before, 0; n >= 0 && depth < deepestNest; depth++ {
		h := t.holds.At(n)
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

// reopened makes the outer hold that an op is about the open one again, and
// reports whether there is one.
func (t *tracer) reopened(la *ownerOnKey, token history.Token) bool {
	n := t.outer(la, token)
	if n < 0 {
		return false
	}
	la.open = append(la.open, n)
	return true
}

// open notes which lines leave it open who held a lock.
func (t *tracer) open() {
	if t.twice.N > 0 {
		t.log.Doubt(t.twice, fmt.Sprintf("%s was granted %s again, and had not given it up: two threads may have one name (--map client=COLUMN+COLUMN), or the lock is reentrant (--reentrant).",
			t.log.Owners.List[t.twiceWho], t.log.Keys.List[t.twiceKey]))
	}
	t.log.Doubt(t.idle, "it is about a grant that the history does not have, so who held the lock then is not told.")
	t.log.Doubt(t.misfits, "it has another token than the grant that its client holds: if the number is that of a write and not of a grant, say --tokens version.")
}

// openLines says which lines leave it open who held the lock; empty: none do.
func openLines(open []remarks.Open) string {
	var why []string
	for _, o := range open {
		like := ""
		if o.Like > 0 {
			like = fmt.Sprintf(" and %s like it", remarks.Count(o.Like, "line"))
		}
		why = append(why, fmt.Sprintf("Line %d%s: %s", o.Line, like, o.Text))
	}
	return strings.Join(why, " ")
}
