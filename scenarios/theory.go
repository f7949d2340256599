package scenarios

import (
	"maps"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/nemesis"
)

// Nature is what decides which violations theory allows a lock under which
// faults: what it claims, and how its service ends a grant.
type Nature struct {
	// Permits is how many may hold a key at once; 0: it claims no exclusion.
	Permits int
	// NoExpiry: a grant ends by a release or with the connection, never by time.
	NoExpiry bool
	// Library: the lock itself measures how long a grant is good for, by the client's clock.
	Library bool
	// Session: a grant lasts as long as a session, whose end the lock can see.
	Session bool
	// WallClock: the service ends grants by its wall clock.
	WallClock bool
	// Forgets: a primary answers before its replica knows.
	Forgets bool
	// Job: it is a scheduler, and its grants are executions of a job. Permits is 0.
	Job bool
	// Exact (Job): it claims that the effect of each tick comes once.
	Exact bool
	// Fair: the lock claims to grant in the order of its waiters, so chance excuses no long wait.
	Fair bool
}

// Expected is what theory expects of the lock on the store under any number of the faults:
// whatever is not named must pass, or not be judged. What the faults make inherent is allowed,
// and what they break for certain is not demanded, since chance decides whether they do.
func (n Nature) Expected(s Store, faults []Fault) Expect {
	t := n.threatOf(faults)
	e := Expect{Why: n.why(t.broken, t.late)}
	for _, a := range allowances {
		if a.when(t, s) {
			for _, p := range a.properties {
				e.set(p, a.outcome)
			}
		}
	}
	return e
}

// threat is what faults can do to a lock of some nature.
type threat struct {
	Nature
	strikesNodes bool
	// nodesMistaken: the service ends grants by a clock that is wrong.
	nodesMistaken bool
	// lost: the service forgets what it granted.
	lost bool
	// broken: a service that forgets, or whose clock ends a grant early, grants it to another
	// within the promise of the first; so it is with a client that measures its validity by a clock
	// that is slow.
	broken bool
	// late: a client that is late acts after the end of its lease, and cannot know.
	late bool
	// resumes: a client goes on after a fault.
	resumes bool
}

func (n Nature) threatOf(faults []Fault) threat {
	t := threat{Nature: n}
	mistaken := false // clients measure their validity by a clock that is wrong
	for _, f := range faults {
		spec, onNodes, clock := f.Spec(), !f.strikesClients(), f.Clock != ""
		for _, is := range []struct {
			so  *bool
			now bool
		}{
			{&t.strikesNodes, onNodes},
			{&t.nodesMistaken, n.WallClock && clock && onNodes},
			{&mistaken, n.Library && clock && !onNodes},
			{&t.lost, f.Data == "lost" || n.Forgets && onNodes},
			{&t.late, n.overstays(spec)},
			{&t.resumes, !spec.Kills()},
		} {
			*is.so = *is.so || is.now
		}
	}
	t.broken = t.lost || t.nodesMistaken || mistaken
	return t
}

// overstays reports whether a holder that the fault strikes may go on when its grant is over.
func (n Nature) overstays(spec nemesis.Spec) bool {
	return !spec.Kills() && (!n.NoExpiry || spec.EndsSessions())
}

// allowances are what the theory allows, and when. A later line replaces what an earlier one says
// of a property.
var allowances = []struct {
	when       func(threat, Store) bool
	outcome    string
	properties []string
}{
	// Without permits there is no lock: the store decides on every write by itself.
	{func(t threat, _ Store) bool { return t.Permits != 0 && t.late }, overrunOutcome,
		[]string{checker.MutualExclusion}},
	{func(t threat, _ Store) bool { return t.Permits != 0 && t.broken }, anyOutcome,
		[]string{checker.MutualExclusion, checker.Continuity}},
	{threat.harms, anyOutcome, []string{checker.UnfencedWrite, checker.LostUpdate, checker.DuplicateEffect}},
	// With the keys goes the counter of the tokens.
	{func(t threat, _ Store) bool { return t.lost }, anyOutcome, []string{checker.TokenOrder}},
	// The answer to an acquire or a renewal may come when the lease is over. A lock
	// that says only for how long a lease lasts leaves the check to its user. A
	// client that comes back from a stop can look whether its session still stands.
	{func(t threat, _ Store) bool { return !t.Library && t.resumes && !t.Session }, anyOutcome,
		[]string{checker.DeadGrant, checker.DeadRenewal}},
	// A key that was written in the wrong time stays until then. A grant that
	// never expires stays if the service lost or froze its end.
	{func(t threat, _ Store) bool { return t.nodesMistaken || t.NoExpiry && t.strikesNodes }, anyOutcome,
		[]string{checker.StuckLock}},
	{func(t threat, _ Store) bool { return t.strikesNodes }, anyOutcome, []string{checker.FIFO}},
	// Work may outlast the time that an execution has, and a tick is then anybody's.
	{func(t threat, _ Store) bool { return t.Job }, overrunOutcome,
		[]string{checker.OncePerTick, checker.Overlap, checker.StopDeadline}},
	{func(t threat, _ Store) bool { return t.Job }, anyOutcome, []string{checker.LostUpdate}},
	{func(t threat, _ Store) bool { return t.Job && (t.lost || t.nodesMistaken) }, anyOutcome, jobsRelied},
	// Chance may let somebody wait for long, unless the lock has a queue, and the nodes know it.
	{func(t threat, _ Store) bool { return !t.Fair || t.strikesNodes }, anyOutcome, []string{checker.Starvation}},
}

// jobsRelied are the properties of a scheduler that break with the memory or the clock of its
// service.
var jobsRelied = []string{checker.OncePerTick, checker.Overlap, checker.Handover, checker.ReleasedOnStop}

// set has the property come to an outcome.
func (e *Expect) set(property, outcome string) {
	if e.Properties == nil {
		e.Properties = map[string]string{}
	}
	e.Properties[property] = outcome
}

// harms reports whether a second holder may harm the data. A fence keeps it from that unless the
// tokens began anew.
func (t threat) harms(s Store) bool {
	return t.Permits == 1 && (t.broken || t.late) && !s.Guarded() && (t.lost || !s.Fenced())
}

// Inherent is what no lease prevents under the faults: a holder that is late, and the
// harm that it does to a store without a fence. It is Expected without what a wrong clock
// or a forgetful service excuses: a lock that gives a key away inside its promise, keeps
// one beyond every promise, or gives tokens out of order, has a defect for certain.
func (n Nature) Inherent(s Store, faults []Fault) Expect {
	e := n.Expected(s, faults)
	for _, property := range overruns {
		if _, allowed := e.Properties[property]; allowed {
			e.Properties[property] = overrunOutcome
		}
	}
	for _, property := range []string{checker.Continuity, checker.TokenOrder, checker.StuckLock, checker.Handover} {
		delete(e.Properties, property)
	}
	if len(e.Properties) == 0 {
		e.Properties = nil // as it is read from a plan
	}
	e.Inherent, e.Why = true, inherentWhy
	if n.Job {
		e.Why = n.why(false, false)
	}
	return e
}

// Examined is what an attack with the faults is held to: what is inherent, and
// beside it what breaks since that breaks on which the lock relies. Whatever
// else is violated is a defect of the lock.
func (n Nature) Examined(s Store, faults []Fault) Expect {
	e, expected := n.Inherent(s, faults), n.Expected(s, faults)
	for property, outcome := range expected.Properties {
		if e.Properties[property] != outcome {
			e.set(property, outcome)
			e.Relied = append(e.Relied, property)
		}
	}
	slices.Sort(e.Relied)
	if len(e.Relied) > 0 {
		e.Why = expected.Why
	}
	return e
}

// Unbroken is the expectation where the run has shown that what the lock relies on did not break:
// that of Nature.Inherent.
func (e Expect) Unbroken() Expect {
	e.Properties = maps.Clone(e.Properties)
	for _, property := range e.Relied {
		if delete(e.Properties, property); slices.Contains(overruns, property) {
			e.set(property, overrunOutcome)
		}
	}
	e.Relied, e.Why = nil, inherentWhy
	return e
}

// overruns are the properties that a late holder breaks.
var overruns = []string{checker.MutualExclusion, checker.OncePerTick, checker.Overlap}

const inherentWhy = "A holder may come after the end of its grant and not know it: no lease prevents that. Whatever else is violated is a defect of the lock."

// why tells the theory in a sentence or two.
func (n Nature) why(broken, late bool) string {
	rest := " Whatever else is violated is a defect of the lock."
	if n.Job {
		rest = " Whatever else is violated is a defect of the scheduler."
	}
	switch {
	case n.Job && broken:
		return "Among these faults are such as break what the scheduler relies on: the clock of its service, or its memory. A tick may then be executed twice, and nobody is late." + rest
	case n.Job:
		return "An instance may die, stand still or work for too long, and cannot tell others whether it had its effect: no scheduler prevents that." + rest
	case n.Permits == 0:
		return "It is no lock: the store decides on every write, so nothing must be lost, whatever happens." + rest
	case broken:
		return "Among these faults are such as end a grant before its time, by what the lock relies on: a clock, or the memory of its service. Two may then hold it, and nobody is late." + rest
	case late:
		return "Among these faults are such as let a holder act after the end of its grant, as no lock can prevent. A second holder is allowed to come only then: one that was granted " +
			"the lock while the first could rely on it is a defect." + rest
	}
	return "None of these faults ends a grant that is held, so nobody must get in beside its holder." + rest
}

func (f *Fault) strikesClients() bool { return nemesis.Target(f.Target).Client() }
