package checker

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// DeadGrant names the property dead-grant: an acquire returned ok with a lease that had already run out: the library said that nothing was left of it, or the TTL
// had passed since the attempt that succeeded.
//
// A stop between the library's last look at its clock and its return is nobody's fault, so a grant whose client an injected fault stopped or skewed since the
// attempt is not judged. A reply that is late on its way excuses nothing: the client runs, and can look at its clock. What the machine itself stalled the client is taken off; a grant that is dead only with that time is inconclusive. A stall
// shorter than Header.Stall is not recorded, so what such a one could explain is not held against the lock either.
const DeadGrant = "dead-grant"

var deadGrant = Property{
	Name:  DeadGrant,
	About: "No acquire succeeds with a lease that has already run out.",
	needs: []string{history.FactAttempts},
	exempt: func(h *history.Header) string {
		if h.Claims.Validity != validityLibrary && h.Claims.Validity != validityInvocation {
			return "This lock does not declare for how long a grant is good."
		}
		return ""
	},
	short: func(s *Sweep) string {
		return noneOf(s.judged.leases, "No grant told when the attempt that succeeded began.")
	},
	stalled: func(n int) string {
		return fmt.Sprintf("%s only after the lease, which a stall of this machine alone explains, not an injected fault.",
			count(n, "acquire returned", "acquires returned"))
	},
	Words: Words{
		Violation: "dead grant",
		Demands:   "A successful acquire returns before its lease has run out.",
		Once:      "A lock was granted when its lease was already over",
		More:      "Locks were granted when their leases were already over",
		Lead:      "Measure the time that the acquire took.",
		Advice: "The lease runs from the moment that the request is sent. What is left when the answer arrives " +
			"is the TTL less that time, and if nothing is left, the acquire has failed.",
		Weight: 5,
	},
}

// judgeAlive judges a new grant.
func (s *Sweep) judgeAlive(g *grant, o *op, e *history.Event) {
	ttl, stall := s.header.TTL, s.header.Stall
	since := stamp(e.Attempt, o.start)
	library := s.header.Claims.Validity == validityLibrary && e.HasValidFor
	if e.Attempt != 0 || library || g.end <= o.start+ttl {
		s.judged.leases++
	}
	spent := library && e.ValidFor <= 0 && (e.ValidFor <= -stall || g.end-since <= ttl/2)
	if !spent && (e.Attempt == 0 || g.end <= e.Attempt+ttl+stall) {
		return
	}
	validFor := e.ValidFor
	instant := spent && g.end-since <= ttl/2 // so little time passed that none of it explains that nothing was left
	over := int64(0)                         // for how long the lease had been over
	if e.Attempt != 0 {
		over = g.end - e.Attempt - ttl
	}
	if spent {
		over = max(over, -validFor)
	}
	s.putOff(since, func() {
		spans := s.clientSpans(g.client)
		if touched(spans, since, g.end, hindering) {
			return
		}
		j := judgement{violated: true, pattern: PatternLateReply}
		if instant {
			j.pattern = PatternUnexplained // it was dead from the beginning, and nothing was late
		}
		j.stallOnly = !instant && touched(spans, since, g.end, uninjectedOnly) && over-s.stalledFor(spans, since, g.end) <= stall
		s.record(&deadGrant, s.keyOf(g), j, j, func(judgement) *Violation { return s.tellDead(g, since, spent, validFor) })
	}, g)
}

func (s *Sweep) tellDead(g *grant, since int64, spent bool, validFor int64) *Violation {
	v := &Violation{Property: DeadGrant, Key: s.name(s.keyOf(g)), At: g.end, From: since, To: g.end, B: g.ref(), Ops: []int64{g.id},
		Faults: s.faultsOf(g.end, g)}
	if spent {
		v.Text = fmt.Sprintf("%s was granted %s at %s, and the library itself said that the grant was good for %s.", who(g), v.Key, seconds(g.end), seconds(validFor))
	} else {
		calm := "which nothing disturbed"
		if touched(s.clientSpans(g.client), since, g.end, injectedOnly) {
			calm = "which was neither stopped nor skewed"
		}
		if touched(s.clientSpans(g.client), since, g.end, uninjectedOnly) {
			calm = "whose stalls were too short to explain it"
		}
		v.Text = fmt.Sprintf("%s was granted %s at %s, %s after the attempt that took it had begun: the lease of %s was over before the client, "+
			"%s, knew of it.", who(g), v.Key, seconds(g.end), seconds(g.end-since), seconds(s.header.TTL), calm)
	}
	return v
}
