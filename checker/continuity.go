// # continuity
//
// Violated if a renewal, release or question "held?" that the lock declares to confirm the hold was
// answered ok, though it began after the end of another client's later grant. Each pair of grants
// counts once.
//
// By completions a correct lock would be accused: A.release [10,30] takes effect at 11, B.acquire
// [12,13], and A's answer comes at 30.
package checker

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// Continuity names the property continuity: a lock that confirms a hold has not given it away.
const Continuity = "continuity"

// continuity reads, beside rules and findings: book, explanations, faults, figures.
var continuity = Property{
	Name:  Continuity,
	About: "An answer that confirms a hold is not given once another client has been granted the key.",
	needs: []string{history.FactAnswers},

	byEarlier: true,
	exempt: func(h *history.Header) string {
		if !slices.ContainsFunc(confirming[:], h.Claims.ConfirmsOp) {
			return "This lock does not declare that any answer confirms a hold."
		}
		return notExclusive(h)
	},
	unmet: func(s *Sweep) string {
		return noneOf(s.figures.judged.asked, "No client asked the lock whether it still held.")
	},
	short: func(s *Sweep) string { return noneOf(s.figures.judged.confirmations, "No answer confirmed a hold.") },
	Words: Words{
		Violation: "false confirmation",
		Demands:   "The lock confirms a hold only as long as no other client has been granted the key.",
		Once:      "The lock confirmed a hold that it had given away",
		More:      "The lock confirmed holds that it had given away",
		Lead:      "Do not trust this lock's word.",
		Advice: "It answered that a hold still stood when another client had the key. Look for an answer that " +
			"is given from memory, or a renewal or release that does not compare the owner.",
		Weight: 5,
	},
}

// confirming are the ops whose answer a lock may declare to confirm the hold.
var confirming = [...]history.Kind{history.Renew, history.Release, history.Held}

// confirm notes that an op under the grant proved that the hold still stood.
func (s *Sweep) confirm(g *grant, o *op) {
	s.figures.judged.confirmations++
	if o.start > g.confirmed {
		g.confirmed, g.confirmedBy, g.confirmedKind = o.start, o.id, o.kind
	}
}

// judgeContinuity judges two grants that have settled: each pair counts once.
func (s *Sweep) judgeContinuity(x, y *grant) {
	if x.client != y.client && !readers(x, y) {
		s.judgeConfirmed(x, y)
		s.judgeConfirmed(y, x)
	}
}

// judgeConfirmed judges what confirmed a's hold against b, were b the later grant.
func (s *Sweep) judgeConfirmed(a, b *grant) {
	if a.confirmed <= b.end || !later(b, a, s.rules.tokens) {
		return
	}
	if a.doubled && b.doubled && s.rules.twins(a.client, b.client) {
		return // what it confirmed is the twin's: the double-hold tells of it
	}
	s.findings.putOff(s.book.now, func() {
		pattern := s.explanations.confirmedPattern(a, b)
		s.findings.record(&continuity, s.book.keyOf(a), judgement{violated: later(b, a, false), pattern: pattern},
			judgement{violated: true, pattern: pattern}, func(judgement) *Violation {
				return s.tellConfirmed(a, b)
			})
	}, a, b)
}

func (s *Sweep) tellConfirmed(a, b *grant) *Violation {
	v := &Violation{Property: Continuity, Key: s.book.nameOf(a), At: a.confirmed, From: b.end, To: a.confirmed,
		A: a.ref(), B: b.ref()}
	var proof evidence
	proof.add(a.id, a.start)
	proof.add(b.id, b.start)
	proof.add(a.confirmedBy, a.confirmed)
	v.Ops, v.Faults = proof.ops(), s.faults.faultsOf(v.At, a, b)
	v.Text = fmt.Sprintf("at %s the lock still confirmed to %s that it held %s, which had been granted to %s at %s.",
		seconds(a.confirmed), clientName(a), v.Key,
		clientName(b), seconds(b.end))
	return v
}
