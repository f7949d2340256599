// # kept-key
//
// Violated if a release was answered ok, by a lock whose releases confirm, and the
// next client waited until the released lease was over. It asked alone, undisturbed,
// more than a quarter of the TTL before that end. None of its attempts that may have
// taken the key began before that end, if it tells (First). If it does not stamp its
// attempts, its last request left after that end, if its packets tell (Sent). Nor can its first
// request have waited behind packets that a cut link had held back. What may be left behind
// excuses as in false-busy. A client that is told busy is judged there.
//
//	A.acquire [0,1], A.release [10,11]; B.acquire [20,505]
//
// "The key was not free at once" accuses locks whose waiters look only now and
// then. A client that asks alone for a free key has it by its first request.
package checker

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// KeptKey names the property kept-key: a release that is answered ok frees the key at once.
const KeptKey = "kept-key"

// keptKey reads, beside rules and findings: book, explanations, faults, figures.
var keptKey = Property{
	Name:  KeptKey,
	About: "A release that is answered ok frees the key at once.",
	needs: []string{history.FactAnswers, history.FactHolds, history.FactService, history.FactClients},
	exempt: func(h *history.Header) string {
		switch {
		case h.Translated:
			return "Nobody watched the clients of this history, so others may have had the key."
		case !h.Claims.ConfirmsOp(history.Release):
			return "This lock does not declare that a release confirms a hold."
		}
		if why := noLease(h); why != "" {
			return why
		}
		return notExclusive(h)
	},
	unmet: func(s *Sweep) string {
		return noneOf(s.figures.judged.passed, "No client asked alone for a key that had been released.")
	},
	stalled: func(n int) string {
		return fmt.Sprintf("%s for a key that had been released, which a stall of this machine alone explains, not an injected fault.", count(n, "client waited", "clients waited"))
	},
	Words: Words{
		Violation: "kept key",
		Demands:   "A release that is answered ok frees the key at once.",
		Once:      "A release was confirmed, and the key stayed taken until its lease was over",
		More:      "Releases were confirmed, and the keys stayed taken until their leases were over",
		Lead:      "Check that the release deletes what the acquire wrote.",
		Advice: "The release answered ok, and the key was free only when its lease had run out. Look for a delete " +
			"that compares with a value that never matches, or an answer that is given before the service was asked.",
		Weight: 4,
	},
}

// tookFrom is when the first request left that may have brought a grant; 0: nothing tells it. An
// earlier one may have taken the key, and its reply was late. Of a lock that does not stamp its
// attempts, First is the start of the call, whatever was refused since, or else the lock told it.
func tookFrom(o *op, e *history.Event) int64 {
	if e.Attempt == 0 && e.First <= o.start+promiseMargin {
		return e.Sent
	}
	return e.First
}

// judgePassed judges an acquire that was granted: whether its client, which asked alone
// for a free key, waited until the lease before it was over. A client that asks alone
// for a free key has it by its first request, so it waits for no other look at the key.
// It is called before the grant is noted. A set is judged by the last of those leases.
func (s *Sweep) judgePassed(asked []*op, e *history.Event) {
	o, end := asked[0], stamp(e.End, e.Time)
	if s.rules.fresh(o.client) || !s.explanations.soleAsks(asked) {
		return
	}
	var last *grant
	for _, x := range asked {
		g := s.book.keys[x.key].lastGrant
		if g == nil || !g.released {
			continue
		}
		s.figures.judged.passed++
		// The lease ran at least until its promise is over.
		from := tookFrom(o, e)
		kept := end >= g.promise && g.promise-o.start >= s.rules.TTL/4 && (from == 0 || from >= g.promise)
		if kept && (last == nil || last.promise < g.promise) {
			last = g
		}
	}
	if last == nil {
		return
	}
	pin(last)
	k, over, lost := s.book.keyOf(last), last.promise, s.book.lostAsks(asked)
	inv, start, client, id, stamped := o.inv, o.start, o.client, o.id, e.Attempt != 0
	s.findings.putOff(inv, func() {
		spans := s.faults.clientSpans(client)
		if s.faults.mayStand(lost, inv) || s.book.garbled() || s.faults.serviceStruck(inv, end) ||
			touched(spans, inv, end, injectedOnly) || !stamped && heldBack(spans, inv, end) {
			return
		}
		j := judgement{violated: true, stallOnly: touched(spans, inv, end, uninjectedOnly) ||
			touched(s.faults.service, inv-s.rules.lifetime(), end, uninjectedOnly)}
		s.findings.record(&keptKey, k, j, j, func(judgement) *Violation {
			v := &Violation{Property: KeptKey, Key: s.rules.name(k), At: end, From: start, To: end, A: last.ref(),
				Ops: []int64{last.id, id}}
			v.Text = fmt.Sprintf("client %d had released %s, which was answered ok, and client %d, which asked from %s on, alone and undisturbed, was granted it only at %s, when the lease of "+
				"the released grant was over (%s).", last.client, v.Key, client, seconds(start), seconds(end),
				seconds(over))
			return v
		})
	})
}
