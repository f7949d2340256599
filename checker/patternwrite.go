package checker

import "github.com/lockchaos/lockchaos/history"

// The patterns of properties other than mutual-exclusion. Where a property is
// broken by a conflict of two holds, it is the conflict's.

// writePattern is the pattern of a write under a that began then, behind one under b.
func (ex *explanations) writePattern(a, b *grant, kind string, begun int64, tokens bool) string {
	switch kind {
	case KindInFlight:
		return PatternLateRequest
	case KindStale:
		return ex.pairPattern(a, b, begun, tokens)
	}
	return PatternUnexplained // when the write began is not known
}

// lostPattern is the pattern of a lost update, a being the earlier grant: its
// write went in beside the later holder's, before or after that read.
func (ex *explanations) lostPattern(a, b *grant, w, other writer) string {
	own := w
	if a == other.g {
		own = other
	}
	switch begun := a.startOf(own.op); {
	case begun == 0:
		return PatternUnexplained
	case begun <= b.end && later(b, a, ex.rules.tokens):
		return PatternLateRequest
	default:
		return ex.pairPattern(a, b, begun, ex.rules.tokens)
	}
}

// confirmedPattern is the pattern of a's hold being confirmed though b was granted the key by
// then. However b came by it, a release or a question that is answered ok was not held against the
// owner. Only at a failover may each of two servers have compared it with the owner that it knew.
func (ex *explanations) confirmedPattern(a, b *grant) string {
	switch renewal := a.confirmedKind == history.Renew; {
	case ex.inPromise(b, a):
		if way := ex.givenAway(a, b); renewal || way == PatternFailover {
			return way
		}
	case renewal && ex.faults.timeOf(a, a.confirmed, isClock) > 0:
		return PatternClockJumped
	case renewal:
		return PatternForeignRenewal
	case a.confirmedKind == history.Held && ex.rules.Claims.Validity == validitySession:
		return PatternSessionUnseen
	}
	return PatternOwnerUnchecked
}

// tokenPattern is the pattern of a grant b whose token is out of order beside
// a's: a counter that a server lost begins anew.
func (ex *explanations) tokenPattern(a, b *grant) string {
	var causes []string
	for _, c := range ex.faults.serviceCauses(a.earliest, b.end, 0) {
		// no other takes a counter back
		if c == PatternFailover || c == PatternRestart || c == PatternClockJumped {
			causes = append(causes, c)
		}
	}
	// the faults of long ago are forgotten
	if r := ex.faults.restart; r.from <= b.end && r.to >= a.earliest {
		causes = append(causes, PatternRestart)
	}
	if len(causes) == 0 {
		return PatternTokens
	}
	return soleCause(causes)
}

// stuckPattern is the pattern of a key that stayed taken though nobody could hold it.
func (k *keyState) stuckPattern() string {
	last := k.lastGrant
	switch {
	case k.vanishedAt != 0 && (last == nil || k.vanishedAt >= last.end):
		return PatternNeverExpired
	case last != nil && last.released:
		return PatternReleaseLost
	}
	return PatternUnexplained
}
