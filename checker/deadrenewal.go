// # dead-renewal
//
// Violated if a renewal that the lock declares to confirm the hold was answered ok when nothing was
// left of the lease that it gave. It is judged as a dead grant is, from the renewal's own attempt.
// For example, A.acquire [0,1], A.renew [400,1001] of an attempt at 400 gives a lease that ended at
// 900.
//
// "From the call" is wrong: a renewal that was lost and sent again at 900 is answered at 1001 in
// time. The end of the old lease does not count either: the service alone knows whether the renewal
// came in time. A stop of the client before the attempt excuses nothing, since the renewal after it
// was sent by a client that ran.
package checker

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// DeadRenewal names the property dead-renewal: no renewal returns ok with a lease that is over.
const DeadRenewal = "dead-renewal"

// deadRenewal reads, beside rules and findings: figures.
var deadRenewal = Property{
	Name:  DeadRenewal,
	About: "No renewal succeeds with a lease that has already run out.",
	needs: []string{history.FactAttempts, history.FactAnswers},
	exempt: func(h *history.Header) string {
		if !h.Claims.ConfirmsOp(history.Renew) {
			return "This lock does not declare that a renewal confirms a hold."
		}
		return noLease(h)
	},
	unmet: func(s *Sweep) string { return noneOf(s.figures.judged.renewals, "No renewal was answered ok.") },
	short: func(s *Sweep) string {
		return noneOf(s.figures.judged.renewedLeases, "No renewal told when the attempt that succeeded began.")
	},
	stalled: func(n int) string {
		return fmt.Sprintf("%s only after the lease, which a stall of this machine alone explains, not an injected fault.",
			count(n, "renewal returned", "renewals returned"))
	},
	Words: Words{
		Violation: "dead renewal",
		Demands:   "A successful renewal returns before the lease that it gave has run out.",
		Once:      "A renewal succeeded when its lease was already over",
		More:      "Renewals succeeded when their leases were already over",
		Lead:      "Measure the time that the renewal took.",
		Advice: "The new lease runs from the moment that the renewal is sent. What is left when the answer " +
			"arrives is the TTL less that time. If nothing is left, the renewal has failed.",
		Weight: 5,
	},
}

// judgeRenewed judges a renewal that was answered ok.
func (s *Sweep) judgeRenewed(g *grant, o *op, e *history.Event) {
	a := s.rules.leaseAnswer(o, e)
	s.figures.judged.renewals++
	if s.rules.tellsLease(&a, o) {
		s.figures.judged.renewedLeases++
	}
	s.judgeLease(&deadRenewal, "", g, &a)
}
