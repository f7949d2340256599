// # token-order
//
// Judged for declared fencing tokens only. Violated if:
//
//   - two clients share one;
//   - a grant that is later by time has a smaller one;
//   - an undisturbed client's acquire returned a smaller one after another's returned a greater.
//
// The same client may get its own token again. Of a reader-writer lock: two grants of which one is
// a writer's.
//
// 0 is a token, and "none" is an absent field. To read 0 as none would pass a counter that falls
// from 7 to 0.
package checker

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// TokenOrder names the property token-order: fencing tokens rise with the grants.
const TokenOrder = "token-order"

// tokenOrder reads, beside rules and findings: book, explanations, faults, figures.
var tokenOrder = Property{
	Name:  TokenOrder,
	About: "Fencing tokens rise with every grant, and no two clients are given the same one.",
	needs: []string{history.FactTokens},
	exempt: func(h *history.Header) string {
		if h.Claims.Token != tokenFencing {
			return "This lock declares no fencing token."
		}
		return notExclusive(h)
	},
	short: func(s *Sweep) string {
		if s.figures.tokensSeen {
			return ""
		}
		return "No grant carried a token, although the lock declares fencing tokens."
	},
	Words: Words{
		Violation: "misordered token",
		Demands:   "A later grant never has a smaller fencing token than an earlier one.",
		Lead:      "The tokens do not fence.",
		Advice: "A later grant carried a smaller fencing token, or one that another grant has too, so a store " +
			"that checks them can refuse the rightful holder and trust the stale one.",
		Weight: 5,
	},
}

// orderTokens compares a new grant with the earlier ones of its key, and moves
// the begins of holds that a greater token bounds.
func (s *Sweep) orderTokens(k *keyState, g *grant) {
	if !g.token.Given() {
		return
	}
	s.figures.tokensSeen = true
	first := g.token > k.topToken && g.end >= k.lastEnd
	k.topToken, k.lastEnd = max(k.topToken, g.token), max(k.lastEnd, g.end, g.earliest)
	if first { // by token and by time: it has nothing to do with any other
		return
	}
	for x := range k.open.all {
		// Else it came first, and has the smaller token. A reader may have come
		// before a writer all the same whom only g shows to have come earlier.
		if x.token >= g.token || max(x.end, x.earliest) > g.end || s.rules.Claims.ReadWrite {
			s.compareTokens(x, g)
		}
	}
	older := &k.settled.gone
	for i := k.settled.to - 1; i >= k.settled.from; i-- {
		entry := k.settled.at(i)
		if entry.latest < g.inv {
			older = entry
			break
		}
		s.compareTokens(entry.g, g)
	}
	// Everything older began and ended before this acquire was invoked: its
	// greatest token stands for all.
	for _, x := range [...]*grant{older.top.g, older.top.twin, older.reader.g, older.reader.twin} {
		if x != nil {
			s.compareTokens(x, g)
		}
	}
}

// compareTokens compares two grants of a key; g is the one that completed last.
func (s *Sweep) compareTokens(x, g *grant) {
	if !x.token.Given() || readers(x, g) {
		return
	}
	switch {
	case x.token == g.token:
		if x.client != g.client {
			s.tokenViolation(x, g, "shared")
		}
	case x.token > g.token:
		s.compareOrdered(g, x)
	default:
		s.compareOrdered(x, g)
	}
}

// compareOrdered compares two grants of which the second has the greater token.
func (s *Sweep) compareOrdered(small, great *grant) {
	if small.earliest > great.end {
		s.tokenViolation(great, small, "smaller")
		return
	}
	if s.rules.Claims.ReadWrite && small.earliest > great.begin {
		s.tokenViolation(great, small, "implied")
		return
	}
	if great.begin < small.begin {
		s.hastenBegin(small, great.begin)
	}
	if great.end < small.end {
		if small.client != great.client && !small.tokenOrderBroken && !s.rules.Translated {
			s.findings.putOff(small.earliest, func() {
				if !s.faults.disturbed(small.client, small.earliest, small.end, anyFault) &&
					!s.book.uncertainPromises(small, great) {
					s.tokenViolation(great, small, "overtaken")
				}
			}, small, great)
		}
	}
}

// tokenViolation records that grant b is out of order, beside a; each grant counts once.
func (s *Sweep) tokenViolation(a, b *grant, how string) {
	if !s.rules.asks(&tokenOrder) {
		return // when a token was given is not told, so it is taken at its word
	}
	k := s.book.keyOf(b)
	k.tokenBroken = true
	if b.tokenOrderBroken {
		return
	}
	b.tokenOrderBroken = true
	j := judgement{violated: true, pattern: s.explanations.tokenPattern(a, b)}
	s.findings.record(&tokenOrder, k, j, j, func(judgement) *Violation { return s.tellToken(a, b, how) })
}

// tellToken tells of a grant b whose token is out of order beside a's.
func (s *Sweep) tellToken(a, b *grant, how string) *Violation {
	v := &Violation{Property: TokenOrder, Key: s.book.nameOf(b), At: max(a.end, b.end), A: a.ref(), B: b.ref()}
	var proof evidence
	proof.add(a.id, a.start)
	proof.add(b.id, b.start)
	v.Ops, v.Faults = proof.ops(), s.faults.faultsOf(v.At, a, b)
	switch how {
	case "shared":
		v.Text = fmt.Sprintf("client %d and client %d were both given token %d for %s.", a.client, b.client, b.token,
			v.Key)
	case "smaller":
		v.Text = fmt.Sprintf("client %d began to acquire %s at %s and was given token %d, smaller than token %d, which client %d had by %s.",
			b.client, v.Key, seconds(b.earliest), b.token, a.token, a.client, seconds(a.end))
	case "implied":
		v.Text = fmt.Sprintf("client %d began to acquire %s at %s and was given token %d, smaller than token %d, which client %d had by %s, for by then a reader had a greater one still.",
			b.client, v.Key, seconds(b.earliest), b.token, a.token, a.client, seconds(a.begin))
	default:
		v.Text = fmt.Sprintf("client %d, which nothing disturbed, was given token %d of %s at %s, after client %d had been given the greater token %d at %s.",
			b.client, b.token, v.Key, seconds(b.end), a.client, a.token, seconds(a.end))
	}
	return v
}
