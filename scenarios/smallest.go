package scenarios

import "slices"

// The smallest application, in leases: its work, work that goes on beyond a lease, and how long a
// client waits at the most. Under a lock that renews itself all work goes on so long, so that a
// renewal falls into it.
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
// says. Where the lock can be asked, one works for longer than its lease, and then asks; where it
// knows readers, some only read. Nothing disturbs them.
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
		Think: Range{work, work}, AcquireTimeout: max(callLimit, smallPatience*s.TTL) + longest, OpTimeout: callLimit + longest}
	if has(CanBeAsked) || has(CanRenew) || has(TellsLoss) {
		s.Workload.Guard = guardCheck
	}
	if has(ReadsAndWrites) {
		s.Workload.Readers = 0.5
	}
	turns := Duration(s.Clients + 1)
	s.Quiet = longest + 3*s.TTL
	s.Duration = turns*(work+s.TTL/4) + s.Quiet
	if s.OutlastsLease() { // and another client has a turn behind that
		s.Duration += s.BeyondLease() + s.TTL/4
	}
	return s
}

// Twinned is the smallest scenario with two clients of one identity, for a lock that makes the
// names of its clients; false: it does not. Nothing else is to be disturbed: what goes wrong among
// twins is told as the work of their identity.
func (l Examinee) Twinned(s Scenario) (Scenario, bool) {
	s.Twins = 2
	return s, slices.Contains(l.Abilities, NamesItself)
}

// OutlastsLease reports whether a client of the workload "steps" works for longer than its lease
// and then asks whether it still holds: where the lock can be asked, and work ends within a lease.
func (s Scenario) OutlastsLease() bool {
	return s.Workload.Kind == StepsWorkload && s.Workload.Ask && s.Workload.Think.Max < s.TTL
}

// BeyondLease is for how long that client works.
func (s Scenario) BeyondLease() Duration { return s.TTL.times(smallLongWork) }

// Struck is the scenario with these faults, and what an attack with them is held to.
func (l Examinee) Struck(s Scenario, faults ...Fault) Scenario {
	s.Faults = faults
	s.Expect = l.Nature.Examined(s.Store, s.Faults)
	return s
}
