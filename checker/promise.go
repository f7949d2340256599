package checker

import "github.com/lockchaos/lockchaos/history"

// promiseMargin is taken off every promise that is measured in time, for the clocks' granularity on either side.
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
func (s *Sweep) promised(o *op, e *history.Event) int64 {
	return s.promiseFrom(stamp(e.Attempt, o.start), e)
}

// promiseFrom is where a promise made by an attempt that began at start ends.
func (s *Sweep) promiseFrom(start int64, e *history.Event) int64 {
	switch s.header.Claims.Validity {
	case validityLibrary:
		if e.HasValidFor {
			return max(0, start+e.ValidFor-promiseMargin)
		}
	case validityInvocation:
		return max(0, start+s.header.TTL-promiseMargin)
	case validitySession:
		return forever
	}
	return 0
}

// extend handles a confirmed renewal: one that ended inside the promise extends it.
func (s *Sweep) extend(g *grant, start int64, e *history.Event) {
	if stamp(e.End, e.Time) < g.limit() {
		g.promise = max(g.promise, s.promiseFrom(start, e))
	}
}

// promisedAt tells whether the lock had promised the key to the grant at t. The promise is looked at from its end only: a
// grant whose reply was late was valid at the service before its client knew.
func (s *Sweep) promisedAt(g *grant, t int64) bool {
	if t >= g.limit() {
		return false
	}
	if s.header.Claims.Validity != validitySession {
		return true
	}
	return !s.disturbed(g.client, t-s.header.TTL, t, anyFault)
}

// restsSince is the first instant at which a fault may end what a grant rests on. A session is older than its grants: one that missed its
// keep-alives before a grant may still end after it.
func (s *Sweep) restsSince(g *grant) int64 {
	if s.header.Claims.Validity == validitySession {
		return g.earliest - s.header.TTL
	}
	return g.earliest
}

// bearsOn reports whether a fault lasted until it could end what a grant rests on. A session that a fault ended before the grant was
// followed by another one.
func (s *Sweep) bearsOn(sp span, g *grant) bool {
	return sp.to >= g.earliest || sp.to >= s.restsSince(g) && !ends(sp) && !isClock(sp)
}

// inPromise tells whether b was granted inside a's promise, were a the earlier of the two.
func (s *Sweep) inPromise(b, a *grant) bool { return a.client != b.client && s.promisedAt(a, b.end) }
