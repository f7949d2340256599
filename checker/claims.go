package checker

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// tallied is how much there was to judge some properties by; a pass needs some of it.
type tallied struct {
	asked, confirmations, leases, enqueued int64 // asked: ops whose answer would confirm a hold
	crossing                               bool  // a client asked for a key while it had another
}

// notClaimed says why the header alone, by the lock's claims, the workload or what it says is not told, leaves a property out; empty when it does not.
func (s *Sweep) notClaimed(p int) string {
	claims := s.header.Claims
	if why := s.header.Untold[propertyNames[p]]; why != "" {
		return why
	}
	switch p {
	case lostUpdate:
		if s.unlocked {
			return "" // that an update is lost needs no lock
		}
		return s.notExclusive()
	case unfencedWrite:
		return s.notExclusive()
	case mutualExclusion:
		if s.reentrant && s.permits > 1 {
			return "How the nested grants of one owner count on a key with more than one permit is not defined."
		}
		return s.noLock()
	case stuckLock:
		return s.noLock()
	case tokenOrder:
		if claims.Token != "fencing" {
			return "This lock declares no fencing token."
		}
		if claims.ReadWrite {
			return "Tokens order the grants of a lock that one client has at a time, and readers are granted this one side by side."
		}
		return s.notExclusive()
	case duplicateEffect:
		if w := s.header.Workload; w != workloadPayment && w != workloadLeader {
			return fmt.Sprintf("It is about work that must be done once, and the workload is not %s or %s.", workloadPayment, workloadLeader)
		}
		if !s.unlocked {
			return s.notExclusive()
		}
	case continuity:
		if !s.confirms[history.Renew] && !s.confirms[history.Release] && !s.confirms[history.Held] {
			return "This lock does not declare that any answer confirms a hold."
		}
		return s.notExclusive()
	case deadGrant:
		if claims.Validity != validityLibrary && claims.Validity != validityInvocation {
			return "This lock does not declare for how long a grant is good."
		}
	case stolenRelease:
		if claims.Validity == "" {
			return "This lock promises nothing that a release could take away."
		}
		return s.notExclusive()
	case fifo:
		if !claims.Fair {
			return "This lock does not declare to be fair."
		}
	case starvation:
		if !claims.Fair && s.header.Workload != workloadQueue {
			return fmt.Sprintf("This lock does not declare to be fair, and the workload is not %s.", workloadQueue)
		}
		return s.noLock()
	case deadlock:
		if claims.Validity == "" && !claims.NoExpiry {
			return "This lock does not declare for how long a grant is good, so nobody knows whether two clients wait for each other."
		}
		return s.notExclusive()
	case herd:
		if !claims.WakesOne {
			return "This lock does not declare to wake only one waiter."
		}
		if s.header.Workload != workloadStampede {
			return fmt.Sprintf("It is measured in workload %s only.", workloadStampede)
		}
	}
	return ""
}

// noLock says that the lock claims no exclusion; empty when it does.
func (s *Sweep) noLock() string {
	if s.unlocked {
		return "This is no lock: it claims no exclusion."
	}
	return ""
}

// notExclusive says why a property for exclusive locks is not judged; empty when it is.
func (s *Sweep) notExclusive() string {
	if why := s.noLock(); why != "" || s.exclusive {
		return why
	}
	return "It is defined for exclusive locks, and this one has more than one permit."
}
