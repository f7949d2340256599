package checker

import "github.com/lockchaos/lockchaos/history"

// The patterns of properties other than mutual-exclusion. Where a property is
// broken by a conflict of two holds, it is the conflict's.

// writePattern is the pattern of a write under a that began then, behind one under b.
func (s *Sweep) writePattern(a, b *grant, kind string, begun int64, tokens bool) string {
	switch kind {
	case KindInFlight:
		return PatternLateRequest
	case KindStale:
		return s.pairPattern(a, b, begun, tokens)
	}
	return PatternUnexplained // when the write began is not known
}

// lostPattern is the pattern of a lost update, a being the earlier grant: its
// write went in beside the later holder's, before or after that read.
func (s *Sweep) lostPattern(a, b *grant, w, other writer) string {
	own := w
	if a == other.g {
		own = other
	}
	switch begun := a.startOf(own.op); {
	case begun == 0:
		return PatternUnexplained
	case begun <= b.end && later(b, a, s.rules.tokens):
		return PatternLateRequest
	default:
		return s.pairPattern(a, b, begun, s.rules.tokens)
	}
}

// confirmedPattern is the pattern of a's hold being confirmed though b was granted the key by
// then. However b came by it, a release or a question that is answered ok was not held against the
// owner. Only at a failover may each of two servers have compared it with the owner that it knew.
func (s *Sweep) confirmedPattern(a, b *grant) string {
	switch renewal := a.confirmedKind == history.Renew; {
	case s.inPromise(b, a):
		if way := s.givenAway(a, b); renewal || way == PatternFailover {
			return way
		}
	case renewal && s.faults.timeOf(a, a.confirmed, isClock) > 0:
		return PatternClockJumped
	case renewal:
		return PatternForeignRenewal
	case a.confirmedKind == history.Held && s.rules.header.Claims.Validity == validitySession:
		return PatternSessionUnseen
	}
	return PatternOwnerUnchecked
}

// tokenPattern is the pattern of a grant b whose token is out of order beside
// a's: a counter that a server lost begins anew.
func (s *Sweep) tokenPattern(a, b *grant) string {
	var causes []string
	for _, c := range s.faults.serviceCauses(a.earliest, b.end, 0) {
		// no other takes a counter back
		if c == PatternFailover || c == PatternRestart || c == PatternClockJumped {
			causes = append(causes, c)
		}
	}
	// the faults of long ago are forgotten
	if r := s.faults.restart; r.from <= b.end && r.to >= a.earliest {
		causes = append(causes, PatternRestart)
	}
	if len(causes) == 0 {
		return PatternTokens
	}
	return soleCause(causes)
}

// stuckPattern is the pattern of a key that stayed taken though nobody could hold it.
func (s *Sweep) stuckPattern(k *keyState) string {
	last := k.lastGrant
	switch {
	case k.vanishedAt != 0 && (last == nil || k.vanishedAt >= last.end):
		return PatternNeverExpired
	case last != nil && last.released:
		return PatternReleaseLost
	}
	return PatternUnexplained
}
