// # stolen-release
//
// Violated if C was granted inside B's promise, and between B's end and C's earliest instant
// another client began a release, not refused, of an older grant whose lease had surely ended. A
// lease has surely ended a TTL after its acquire or last renewal ended; of a session, when its
// client was told.
//
// The key must have become free by that release. So C's client had it within a quarter of the TTL
// of the release. If it asked later than the release, it asked within a quarter of the TTL of it,
// and had the key as soon after that. No answer confirmed B's hold between the two. "C was granted
// it some time after" blames a release that freed nothing for a queue that lets two in. "C had it
// as soon as it asked" does so, too: nobody saw the key free before. Here B keeps the key, and C
// waits for 2,400, or asks at 4,490:
//
//	A.release [2000,2010], B holds the key; C.acquire [2100,4500]
//
// No injected fault touched the service meanwhile. A finding that a stall of the service explains,
// too, is inconclusive. "A release answered ok that freed another's key" cannot be asked: many
// services answer ok to anything, and no history shows what was freed.
package checker

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// StolenRelease names the property stolen-release: a release of an older grant, whose lease is
// over, frees nobody else's key.
const StolenRelease = "stolen-release"

// stolenRelease reads, beside rules and findings: book, explanations, faults.
var stolenRelease = Property{
	Name:  StolenRelease,
	About: "A release of a grant whose lease is over frees nobody else's.",
	needs: []string{history.FactService},
	exempt: func(h *history.Header) string {
		if h.Claims.Validity == "" {
			return "This lock promises nothing that a release could take away."
		}
		return notExclusive(h)
	},
	stalled: func(n int) string {
		return fmt.Sprintf("%s inside a promise after a late release, which a stall of the service alone explains, too.", count(n, "grant was made", "grants were made"))
	},
	Words: Words{
		Violation: "stolen release",
		Demands:   "A release after the end of the lease frees nobody else's grant.",
		Once:      "A late release freed another client's lock",
		More:      "Late releases freed other clients' locks",
		Lead:      "Compare the owner in the release.",
		Advice: "A client whose lease is over must not delete the key of whoever came after it. Store a value " +
			"of its own with every grant, and delete only if it is still there, in one step at the service.",
		Weight: 6,
	},
}

// lateRelease is a release that began when the lease of its grant had surely
// ended, and was not refused.
type lateRelease struct {
	g              *grant
	op, start, end int64
	// weak: the lease ended only while the release was under way, or the key was gone
	// by then. When it took effect is not known, so it proves nothing; it explains.
	weak bool
}

// keptLate bounds how many of them a key remembers. A finding is decided half a
// TTL after it was made, so the newest are what it needs.
const keptLate = 256

// renewed notes a renewal, by which the lease may run longer.
func (g *grant) renewed(e *history.Event) {
	switch e.Type {
	case history.OK:
		g.leased = max(g.leased, stamp(e.End, e.Time))
	case history.Info:
		g.leased = forever // it may take effect at any time
	}
}

// leaseOver reports whether a grant's lease had surely ended at t.
func (bk *book) leaseOver(g *grant, t int64) bool {
	if bk.rules.Claims.Validity == validitySession || g.leased == forever {
		return g.told != 0 && g.told < t
	}
	return bk.leasedAt(g)+bk.rules.TTL < t
}

// noteLate remembers a release that came too late, if it was not refused.
func (s *Sweep) noteLate(o *op, e *history.Event) {
	g := o.grant
	end := stamp(e.End, e.Time)
	if !s.rules.asks(&stolenRelease) || e.Type == history.Fail || o.start == 0 || !s.book.leaseOver(g, end) &&
		!s.explanations.releasedByOther(g, o.start) {
		return
	}
	k := s.book.keyOf(g)
	if len(k.late) >= keptLate {
		k.late = append(k.late[:0], k.late[keptLate/2:]...)
	}
	pin(g)
	k.late = append(k.late, lateRelease{g: g, op: o.id, start: o.start, end: end, weak: !s.book.leaseOver(g, o.start)})
	k.lateUntil = max(k.lateUntil, end)
}

// freedFor reports whether the release may have freed b's key for c: c's client had the key
// soon after, and no answer confirmed b's hold between the two. A client that has it only
// later may have been told by another cause that the key is its own.
func (r *lateRelease) freedFor(b, c *grant, ttl int64) bool {
	confirmed := b.confirmed > r.end && b.confirmed < c.earliest
	return !confirmed && c.start-r.end <= ttl/4 && c.end-max(r.end, c.start) <= ttl/4
}

// robbed reports whether a release of an older grant, which came too late, was
// under way between g's grant and t, and may have freed g's key for next: then
// what g's client releases is another's again.
func (bk *book) robbed(g, next *grant, t int64) bool {
	k := bk.keyOf(g)
	return k.lateUntil > g.earliest && slices.ContainsFunc(k.late, func(r lateRelease) bool {
		return r.g.client != g.client && r.end > g.earliest && r.start < t && later(g, r.g, bk.rules.tokens) &&
			r.freedFor(g, next, bk.rules.TTL)
	})
}

// releasedByOther reports whether g's key was another's by t, and such a release explains
// that: one that may have freed it, and a grant inside g's promise. Without
// that grant a lock whose releases answer ok to anything, and free nothing,
// would have each release taken for a theft behind the first that was late.
func (ex *explanations) releasedByOther(g *grant, t int64) bool {
	last := ex.book.keyOf(g).lastGrant
	return last != nil && ex.inPromise(last, g) && ex.book.robbed(g, last, t)
}

// freed reports whether a release of an older grant explains that c was granted
// inside b's promise, though it may not prove it.
func (ex *explanations) freed(b, c *grant) bool {
	return !touched(ex.faults.service, b.earliest, c.end, anyFault) && ex.book.robbed(b, c, c.end)
}

// judgeStolen judges two grants of which one was made inside the other's promise.
func (s *Sweep) judgeStolen(x, y *grant) {
	plain, trusting := s.explanations.thief(x, y, false), s.explanations.thief(x, y, s.rules.tokens)
	by := plain
	if by == nil {
		by = trusting
	}
	judge := func(r *lateRelease, tokens bool) judgement {
		b, c := inOrder(x, y, tokens)
		return judgement{violated: r != nil, pattern: PatternStolen,
			stallOnly: touched(s.faults.service, b.earliest, c.end, uninjectedOnly)}
	}
	p, t := judge(plain, false), judge(trusting, s.rules.tokens)
	s.findings.record(&stolenRelease, s.book.keyOf(x), p, t, func(judgement) *Violation {
		b, c := inOrder(x, y, s.rules.tokens)
		return s.tellStolen(b, c, by)
	})
}

// thief returns the release that freed the key of one grant for the other,
// under one reading of the key's tokens.
func (ex *explanations) thief(x, y *grant, tokens bool) *lateRelease {
	b, c := inOrder(x, y, tokens)
	if !ex.inPromise(c, b) || ex.book.uncertainPromises(b, c) ||
		touched(ex.faults.service, b.earliest, c.end, injectedOnly) {
		return nil
	}
	late := ex.book.keyOf(b).late
	for i := range late {
		r := &late[i]
		if !r.weak && r.g.client != b.client && r.start > b.end && r.start < c.earliest && later(b, r.g, tokens) &&
			r.freedFor(b, c, ex.rules.TTL) {
			found := *r // the list moves
			return &found
		}
	}
	return nil
}

func (s *Sweep) tellStolen(b, c *grant, r *lateRelease) *Violation {
	v := &Violation{Property: StolenRelease, Key: s.book.nameOf(b), At: c.end, From: r.start, To: c.end, A: b.ref(),
		B: c.ref()}
	var proof evidence
	proof.add(r.g.id, r.g.start)
	proof.add(b.id, b.start)
	proof.add(r.op, r.start)
	proof.add(c.id, c.start)
	v.Ops, v.Faults = proof.ops(), s.faults.faultsOf(c.end, r.g, b, c)
	v.Text = fmt.Sprintf("client %d released its grant of %s at %s, when its lease was over and the key belonged to %s; it was not refused, and %s was granted the key "+
		"at %s, inside client %d's promise.", r.g.client, v.Key, seconds(r.start), clientName(b), clientName(c), seconds(c.end),
		b.client)
	return v
}
