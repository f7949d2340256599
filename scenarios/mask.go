package scenarios

import (
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/nemesis"
)

// A lock that falls by a trivial defect may have a deeper one. To show that,
// attacks that fell are made again on an application that avoids the step of
// the lock in which the first defect lives. What falls then, falls without it.

// Mask is a way to avoid one step of a lock.
type Mask struct {
	// About says what the application does, as in "an application that is never a reader".
	About string
	// Takes reports whether the application of a scenario takes the step.
	Takes func(Scenario) bool
	// avoid takes the step out of the scenario.
	avoid func(*Scenario)
	// at reports whether a fault strikes at the step itself; nil: none does.
	at func(Fault) bool
}

var (
	oneKey = Mask{About: "asks for one key at a time",
		Takes: func(s Scenario) bool { return s.Workload.Kind == sets },
		avoid: func(s *Scenario) { s.Workload.Kind = counter }}
	neverReads = Mask{About: "is never a reader",
		Takes: func(s Scenario) bool { return s.Workload.Readers > 0 },
		avoid: func(s *Scenario) { s.Workload.Readers = 0 }}
	asksNothing = Mask{About: "neither renews nor asks whether it still holds",
		Takes: func(s Scenario) bool { return s.Workload.Renew || s.Workload.Ask || s.Workload.Guard == guardCheck },
		avoid: func(s *Scenario) { s.Workload.Renew, s.Workload.Ask, s.Workload.Guard = false, false, guardTold },
		at:    strikes(nemesis.WhileRenewing, nemesis.RequestRenew)}
	waitsOn = Mask{About: "never gives up a wait",
		Takes: func(s Scenario) bool { return s.Workload.AcquireTimeout < s.TTL },
		avoid: func(s *Scenario) { s.Workload.AcquireTimeout = s.patience() },
		at:    strikes("", nemesis.RequestGiveUp)}
	waitsShortly = Mask{About: "gives up a wait after half a lease",
		Takes: func(s Scenario) bool { return s.Workload.AcquireTimeout > s.TTL/2 },
		avoid: func(s *Scenario) { s.Workload.AcquireTimeout = s.TTL / 2 }}
	worksShortly = Mask{About: "works for a tenth of a period",
		Takes: func(s Scenario) bool { return s.Workload.Kind == job && s.Workload.Think.Max > s.Workload.Every/2 },
		avoid: func(s *Scenario) { s.Workload.Think = Range{s.Workload.Every / 10, s.Workload.Every / 10} }}
	ownIdentity = Mask{About: "has an identity for each client",
		Takes: func(s Scenario) bool { return s.Twins > 0 },
		avoid: func(s *Scenario) { s.Twins = 0 }}
	neverReleases = Mask{About: "is killed where it would release",
		Takes: func(Scenario) bool { return true },
		avoid: func(s *Scenario) {
			s.Workload.NeverRelease = true
			s.Needs = s.Needs.within(s.Duration, s.TTL) // each grant then lasts for a lease
			s.Needs.Handovers = 0                       // a waiter waits for a lease, not for its holder
			s.Duration += Duration(max(s.Needs.Grants, s.Needs.Bites+1)) * s.TTL
		},
		at: strikes(nemesis.BeforeRelease, nemesis.RequestRelease)}
)

// strikes matches faults at the moment, or at the request.
func strikes(at nemesis.Moment, request nemesis.Request) func(Fault) bool {
	return func(f Fault) bool {
		return at != "" && nemesis.Moment(f.When) == at || nemesis.Request(f.Request) == request
	}
}

// masks has for each property, and each kind of double-holds, the steps in which such a
// defect may live, and which an application can avoid. The rarest step comes first. A late
// notice is not among them: it is the lock that tells, whatever the application does.
var masks = map[string][]Mask{
	checker.KindGrantedWhileValid: {oneKey, neverReads, asksNothing, waitsOn, neverReleases},
	checker.KindSameIdentity:      {ownIdentity},
	checker.KindGrantedDead:       {waitsShortly},
	checker.DeadGrant:             {waitsShortly},
	checker.DeadRenewal:           {asksNothing},
	checker.Continuity:            {asksNothing, neverReleases},
	checker.StolenRelease:         {neverReleases},
	checker.KeptKey:               {oneKey, neverReleases},
	checker.StuckLock:             {oneKey, neverReads, waitsOn, neverReleases},
	checker.FalseBusy:             {oneKey, neverReads, waitsOn},
	checker.FalseLoss:             {asksNothing, neverReleases},
	checker.Deadlock:              {oneKey},
	checker.Overlap:               {worksShortly},
	checker.StopDeadline:          {worksShortly},
}

// MaskOf returns how to avoid a defect, by its property or kind, that attacks
// have shown: by the rarest step in which it may live and which all of them
// take. It returns false if there is no such step.
func MaskOf(defect string, shownBy []Scenario) (Mask, bool) {
	all := masks[defect]
	i := slices.IndexFunc(all, func(m Mask) bool {
		return !slices.ContainsFunc(shownBy, func(s Scenario) bool { return !m.Takes(s) })
	})
	if i < 0 || len(shownBy) == 0 {
		return Mask{}, false
	}
	return all[i], true
}

// masked is what the name of a masked attack ends with.
const masked = "-masked"

// Of returns the attack on an application that avoids the step. It returns false
// if the fault strikes at that step, so that nothing would be left of the attack.
func (m Mask) Of(s Scenario) (Scenario, bool) {
	for _, f := range s.Faults {
		if m.at != nil && slices.ContainsFunc(f.Singles(), m.at) {
			return s, false
		}
	}
	m.avoid(&s)
	s.Name = s.Lock + "/" + s.Attack + masked + "/" + s.Store.Kind
	s.About += "; but the application " + m.About
	return s, true
}

// patience is how long an application waits for a lock if it gives up only when something is wrong.
func (s Scenario) patience() Duration {
	longest := Duration(0)
	for _, f := range s.Faults {
		longest = max(longest, f.Longest())
	}
	return max(callLimit, 4*s.TTL+longest)
}

// MostTelling returns so many of the attacks, those first for which first
// holds, and among them the most telling ones.
func (e Exam) MostTelling(n int, all []Scenario, first func(Scenario) bool) []Scenario {
	all = e.byTelling(all)
	slices.SortStableFunc(all, func(a, b Scenario) int {
		switch x, y := first(a), first(b); {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	})
	return all[:min(n, len(all))]
}
