package scenarios

// Pace is how a lock hands over while nothing disturbs it. The zero value is not known.
type Pace struct {
	// Handover is how long a key stays without a holder, though others want it:
	// from the call of a release to the next grant.
	Handover Duration
	// Measured counts the hand-overs behind that. Waited counts those to a
	// client whose acquire had begun before the release.
	Measured, Waited int
}

const (
	// atEase is the share of a lease that a hand-over may take without an
	// attack being longer for it. Faults come so far apart at the least.
	atEase = 0.2
	// leastGrants is how many grants an attack needs of the slowest lock: that to the holder
	// that is struck, that to its successor, and one that shows that the lock goes on.
	leastGrants = 3
)

// Paced returns an attack for a lock of the pace. For a slow lock it lasts longer:
// each grant that it needs, and each fault that must strike, takes one hand-over more.
// Where it would last more than twice as long, it needs fewer grants and hand-overs.
// Of a lock that answers at once it needs no hand-over to a client that waits.
func (s Scenario) Paced(p Pace) Scenario {
	if p.Measured == 0 {
		return s
	}
	slow := max(0, p.Handover-s.TTL.times(atEase))
	handovers := 0
	if slow > 0 && s.Needs.Handovers > 0 {
		s.Needs = s.Needs.within(s.Duration, slow)
		handovers = s.Needs.Grants
	}
	s.Needs.Handovers = min(s.Needs.Handovers, s.Needs.Grants*p.Waited/p.Measured)
	if len(s.Faults) > 0 {
		handovers = max(handovers, s.Needs.Bites+1) // one fault more can strike than has to
	}
	s.Duration += Duration(handovers) * slow
	return s
}

// within are the needs of an attack that lasts for so long where each grant takes so much of that:
// fewer, where all would not fit, but never too few.
func (n Needs) within(lasts, each Duration) Needs {
	n.Grants = min(n.Grants, max(leastGrants, int(lasts/each)))
	n.Handovers = min(n.Handovers, n.Grants/leastGrants)
	return n
}
