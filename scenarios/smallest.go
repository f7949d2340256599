package scenarios

import "slices"

// The smallest application, in leases: its work, that under a lock which renews itself, so that a
// renewal falls into it, and how long a client waits at the most.
const (
	smallWork     = 0.5
	smallLongWork = 1.2
	smallPatience = 6
)

// StepsWorkload is the kind of workload whose clients pass every step of a lock once.
const StepsWorkload = "steps"

// Smallest is the smallest scenario of the lock in which its clients pass every step, with time for
// one fault that lasts so long at the most and strikes anywhere: two clients, three if the lock is
// fair, and one key. They renew and ask before each write, where the lock can, and go by what it
// says. Nothing disturbs them.
func (l Examinee) Smallest(longest Duration) Scenario {
	s := l.Undisturbed()
	has := func(a Ability) bool { return slices.Contains(l.Abilities, a) }
	s.Name = l.Base.Lock + "/steps/" + s.Store.Kind
	s.Clients, s.Keys, s.Needs = 2, 1, Needs{}
	if l.Nature.Fair {
		s.Clients = 3
	}
	work := s.TTL.times(smallWork)
	if has(RenewsItself) {
		work = s.TTL.times(smallLongWork)
	}
	s.Workload = Workload{Kind: StepsWorkload, Guard: guardNone, Ask: has(CanBeAsked), Renew: has(CanRenew),
		Think: Range{work, work}, AcquireTimeout: smallPatience*s.TTL + longest, OpTimeout: callLimit + longest}
	if has(CanBeAsked) || has(CanRenew) || has(TellsLoss) {
		s.Workload.Guard = guardCheck
	}
	turns := Duration(s.Clients + 1)
	s.Quiet = longest + 3*s.TTL
	s.Duration = turns*(work+s.TTL/4) + s.Quiet
	return s
}

// Struck is the scenario with these faults, and what an attack with them is held to.
func (l Examinee) Struck(s Scenario, faults ...Fault) Scenario {
	s.Faults = faults
	s.Expect = l.Nature.Examined(s.Store, s.Faults)
	return s
}
