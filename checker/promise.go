// # Promise
//
// The promise is the time in which the lock said "yours". It lasts to the start of the successful
// attempt plus what the library said, or plus the TTL, less 2 ms. The 2 ms are there because the
// library looked at its clock at some time between the attempt's start and its return, and a stop
// may lie between that look and the worker's stamp. For example, A.acquire [0,700] valid 495,
// stopped from 2 to 699, was valid until 495 and not until 1195. A confirmed renewal that ended
// inside the promise extends it likewise.
//
// "Inside the promise" means before its end. If A's reply was late, B may be granted before A's
// acquire ends, and A's lease runs all the same.
//
//	A.acquire [0,1] valid to 498, A lies idle; B.acquire [300,301] ok
//
// The lock broke its word though neither client acted. A check of holds alone would miss that.
//
// The promise is withdrawn by a lost-event, a declined op, an answer "not held", a kill, the start
// of a release or a close, and the same client's next acquire of the key. A process found dead may
// have died at any time since its last sign of life, so its promise is withdrawn as of then. A
// recorded kill is a sign of life.
//
// # The promise of a session
//
// A session promises an instant only if no injected fault touched the client, its links or the
// service through the TTL before it. "Until a lost-event" cannot be held against a lock whose
// client is stopped, for the event cannot arrive. Faults before the grant count too, because a
// session is older than its grants. "Since the grant" would accuse a correct lock with a TTL of
// 500:
//
//	A is stopped from 10 to 440, A.acquire [450,451], B.acquire [507,508], A.lost [521]
//
// A's session missed its keep-alives while A was stopped, and ended at 500.
//
// A fault touches from its first event to its second. Its measured effect (FaultInfo.From to To) is
// shorter: a stop bites before it is proven, and a wrong clock is set right after its last
// measurement. To count the measured time alone would accuse the same lock, if A was stopped until
// 60 and its stop measured until 6: no more than 502 before B's grant.
//
// A stall of the machine ends a session only if the client, or the service, stood still for half a
// TTL on end. A client that keeps a session is heard every half of it at least, and as soon as it
// runs again. Stalls are measured up to Header.Stall too short at either end.
//
//	A.acquire [0,1], A stalls from 100 to 200, B.acquire [400,401]
//
// "Any stall voids the promise" lets a broken lock go free on a busy machine. A session that does
// not end by time (Claims.NoExpiry) ends by no stall. But the lock may have noticed the loss: by a
// lost-event at any time, a declined op, or an answer "not held". Then the session did end, and any
// stall in the TTL before voids the promise, because a machine that stalls now and then stalls more
// than is recorded.
//
// A fault that ends the session ends the promise. So does a reset, or a connection that was cut, if
// the lock claims within which time it notices a loss (Claims.LostGrace). Acts within that time are
// then inherent, and a later act is a late notice. An answer that confirms the hold after the fault
// restores the promise. Here the grace is 6,500, and nothing is wrong:
//
//	A.acquire [0,1], A's connection is reset at 10, B.acquire [900,901], A.write [950,951]
//
// "Undisturbed for a TTL, so the session stands" accuses every lock that lives as long as its
// connection, and looks for the connection every few seconds.
//
// The promise is also over if the next grant of the key was another client's, and a fault may have
// ended the session by then. The later grants do not break it:
//
//	A.acquire [0,1], A is stopped from 4 to 700, B.acquire [600,601], B.release [610,611]; C.acquire [5000,5001]
package checker

import (
	"cmp"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

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
