// # continuity
//
// Violated if a renewal, release or question "held?" that the lock declares to confirm the hold was
// answered ok, though it began after the end of another client's later grant. Each pair of grants
// counts once.
//
// By completions a correct lock would be accused: A.release [10,30] takes effect at 11, B.acquire
// [12,13], and A's answer comes at 30.
//
// The order of the two grants may be unknown. It is violated, too, if A would have been granted the
// key inside B's promise, were B's grant the earlier one, and the other order breaks no promise:
// then each order needs a defect, and this is the milder one. Here B waited since before A was
// granted the key, and A was frozen meanwhile:
//
//	B.acquire [-5,900]; A.acquire [0,10], A.release [1500,1501] ok
//
// "The order is unknown, so the lock may be innocent" lets each lock go free that frees any key, if
// it cannot tell when its attempts began.
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
	if a.confirmed <= b.end || later(a, b, false) {
		return
	}
	if a.doubled && b.doubled && s.rules.twins(a.client, b.client) {
		return // what it confirmed is the twin's: the double-hold tells of it
	}
	s.findings.putOff(s.book.now, func() {
		plain, trusting := s.explanations.confirmation(a, b, false), s.explanations.confirmation(a, b, s.rules.tokens)
		s.findings.record(&continuity, s.book.keyOf(a), plain, trusting, func(j judgement) *Violation {
			return s.tellConfirmed(a, b, j)
		})
	}, a, b)
}

// confirmation judges the answer that confirmed a's hold after b's grant, under one reading of the
// key's tokens. Where neither time nor any token tells the order, each order must need a defect.
func (ex *explanations) confirmation(a, b *grant, tokens bool) judgement {
	j := judgement{unordered: !later(b, a, tokens)}
	j.violated = !j.unordered || !later(a, b, ex.rules.tokens) && ex.inPromise(a, b) && !ex.breaksWord(a, b) &&
		!ex.book.uncertainPromises(a, b)
	if j.violated {
		j.pattern = ex.confirmedPattern(a, b)
	}
	return j
}

// breaksWord reports whether the double-hold itself is a defect, were b granted the key later. Then
// that tells of it.
func (ex *explanations) breaksWord(a, b *grant) bool {
	return ex.inPromise(b, a) || ex.noticedLate(a, b)
}

func (s *Sweep) tellConfirmed(a, b *grant, j judgement) *Violation {
	v := &Violation{Property: Continuity, Key: s.book.nameOf(a), At: a.confirmed, From: b.end, To: a.confirmed,
		A: a.ref(), B: b.ref(), Unordered: j.unordered}
	var proof evidence
	proof.add(a.id, a.start)
	proof.add(b.id, b.start)
	proof.add(a.confirmedBy, a.confirmed)
	v.Ops, v.Faults = proof.ops(), s.faults.faultsOf(v.At, a, b)
	v.Text = fmt.Sprintf("at %s the lock still confirmed to %s that it held %s, which had been granted to %s at %s",
		seconds(a.confirmed), clientName(a), v.Key,
		clientName(b), seconds(b.end))
	if j.unordered {
		v.Text += fmt.Sprintf("; if client %d was granted it first, client %d was granted it inside that promise", b.client, a.client)
	}
	v.Text += "."
	return v
}
