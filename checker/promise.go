package checker

import (
	"cmp"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// Promises: until when a lock has promised the key to a grant (Claims.Validity).

// promiseMargin is taken off every promise that is measured in time, for the
// clocks' granularity on either side.
const promiseMargin = 2_000_000

// The kinds of validity that a lock may declare.
const (
	validityLibrary    = "library"
	validityInvocation = "from_invocation"
	validitySession    = "session"
)

// noticesAlone is the claim of a lock that it notices a loss by its own clock, cut off or not.
const noticesAlone = "alone"

// tokenFencing is the kind of token that rises with every grant.
const tokenFencing = "fencing"

// promised is where the promise of a new grant ends by itself; 0: nothing is promised.
func (r *rules) promised(o *op, e *history.Event) int64 {
	return r.promiseFrom(stamp(e.Attempt, o.start), e)
}

// promiseFrom is where a promise made by an attempt that began at start ends.
func (r *rules) promiseFrom(start int64, e *history.Event) int64 {
	switch r.Claims.Validity {
	case validityLibrary:
		if e.HasValidFor {
			return max(0, start+e.ValidFor-promiseMargin)
		}
	case validityInvocation:
		return max(0, start+r.TTL-promiseMargin)
	case validitySession:
		return forever
	}
	return 0
}

// extend handles a confirmed renewal: one that ended inside the promise extends it.
func (r *rules) extend(g *grant, start int64, e *history.Event) {
	if stamp(e.End, e.Time) < g.limit() {
		g.promise = max(g.promise, r.promiseFrom(start, e))
	}
}

// promisedAt reports whether the lock had promised the key to the grant at t. The
// promise is looked at from its end only: a grant whose reply was late was
// valid at the service before its client knew.
func (ex *explanations) promisedAt(g *grant, t int64) bool {
	if t >= g.limit() {
		return false
	}
	if ex.rules.Claims.Validity != validitySession {
		return true
	}
	return ex.sessionStands(g, t) && !ex.endedByFault(g, t) && !ex.passedOn(g, t)
}

// sessionStands reports whether nothing disturbed a session in the TTL before t.
func (ex *explanations) sessionStands(g *grant, t int64) bool {
	return !ex.faults.disturbed(g.client, t-ex.rules.TTL, t, injectedOnly) && !ex.stalledToDeath(g, t)
}

// endedByFault reports whether a fault may have ended the session of a grant by
// t. A fault that ends connections counts only if the lock claims within which
// time it notices a loss: then that claim says when it breaks its word. An
// answer that confirmed the grant after the fault shows that it stood.
func (ex *explanations) endedByFault(g *grant, t int64) bool {
	since := stamp(g.attempt, g.earliest)
	return slices.ContainsFunc(ex.faults.clientSpans(g.client), func(sp span) bool {
		counts := sp.touch.Ends == history.EndsSession || ex.rules.Claims.LostGrace > 0
		return counts && sp.from <= t && sp.to >= since && endsAfter(sp, g) && g.confirmed <= sp.to
	})
}

// passedOn reports whether the key had been another client's before t, in a
// time in which a fault may have ended g's session: then it did.
func (ex *explanations) passedOn(g *grant, t int64) bool {
	return g.next != 0 && g.next < t && !ex.sessionStands(g, g.next)
}

// stalledToDeath reports whether stalls of the machine may have ended a session by t. The
// service ends a session that it does not hear for a TTL. A client that keeps one is heard
// every half of it at least, and as soon as it runs again; so only a stall of half a TTL
// can have ended it, a client's or the service's. Stalls are measured up to a threshold
// too short at either end. A session that does not end by time ends by no stall.
//
// But where the lock noticed that the hold was lost, the session did end, and a
// machine that stalls now and then stalls more than is seen of it.
func (ex *explanations) stalledToDeath(g *grant, t int64) bool {
	return ex.stalledWithin(g, t-ex.rules.TTL, t)
}

// stalledWithin is stalledToDeath of stalls from one instant to another.
func (ex *explanations) stalledWithin(g *grant, since, t int64) bool {
	least := ex.rules.TTL / 2
	switch {
	case g.told != 0 || g.disowned:
		least = 0
	case ex.rules.Claims.NoExpiry:
		return false
	}
	off := ex.rules.Stall
	var stalls []span
	for _, spans := range [2][]span{ex.faults.clientSpans(g.client), ex.faults.service} {
		for _, sp := range spans {
			if sp.to == forever && sp.from <= t {
				return true // it goes on
			}
			if sp.from <= t && sp.to >= since && uninjectedOnly.takes(sp) {
				stalls = append(stalls, span{from: sp.from - off, to: sp.to + off})
			}
		}
	}
	slices.SortFunc(stalls, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	from, to := int64(0), int64(0)
	for _, sp := range stalls {
		if sp.from > to {
			from, to = sp.from, sp.to
		}
		if to = max(to, sp.to); to-from >= least {
			return true
		}
	}
	return false
}

// restsSince is the first instant at which a fault may end what a grant rests on. A session is
// older than its grants: one that missed its keep-alives before a grant may still end after it.
func (r *rules) restsSince(g *grant) int64 {
	if r.Claims.Validity == validitySession {
		return g.earliest - r.TTL
	}
	return g.earliest
}

// bearsOn reports whether a fault lasted until it could end what a grant rests
// on. A session that a fault ended before the grant was followed by another one.
func (r *rules) bearsOn(sp span, g *grant) bool {
	return sp.to >= g.earliest || sp.to >= r.restsSince(g) && !ends(sp) && !isClock(sp)
}

// inPromise reports whether b was granted inside a's promise, were a the earlier of the two.
func (ex *explanations) inPromise(b, a *grant) bool {
	return a.client != b.client && ex.promisedAt(a, b.end)
}
