package checker

import "github.com/lockchaos/lockchaos/history"

// Property is one property that a history is judged by, as one value. Its file
// defines it and judges it; the list below is all that else names it. What it
// must see of each event stays a method of Sweep in that file: a call through a
// value for every event would cost the judge its speed.
type Property struct {
	Name string `json:"name"`
	// About says in a sentence what holds when it is not violated.
	About string `json:"about"`
	// Kinds are those that a verdict counts its violations by; nil: it does not.
	Kinds []string `json:"-"`
	// kinds are those that its violations may be of, where a verdict does not count by them.
	kinds []string
	Words Words `json:"-"`

	// blame is that of its violations, kindBlame that of kinds that have another.
	blame     Blame
	kindBlame map[string]Blame
	// byEarlier: the earlier of a violation's two grants brought it about,
	// however many violations it made.
	byEarlier bool

	// needs are the facts (history.Fact…) without which it can't be judged.
	needs []string
	// exempt says why the claims of the lock, or the workload, leave the
	// property out; empty: they do not. nil: nothing does.
	exempt func(*history.Header) string
	// unmet says why nothing in the run was about it, so that it is not judged;
	// empty: something was.
	unmet func(*Sweep) string
	// short says what the history lacks to show that it holds, where nothing
	// violates it; empty: nothing.
	short func(*Sweep) string
	// stalled says what a stall of the machine alone explains, n times; nil: conflicts.
	stalled func(n int) string
	// shown adds to a pass what was measured.
	shown func(*Sweep) string
	// finish judges what only the whole history tells. It is given the
	// property, which it can't name itself.
	finish func(*Sweep, *Property)

	// ofJobs: it is about executions of a job, and no verdict on a lock has it.
	ofJobs bool
	// ofStops: the same, but that a verdict on a lock has it which claims something of orderly
	// stops.
	ofStops bool

	place int // in properties
}

// Words are what reports say of a property.
type Words struct {
	// Violation is what a violation is called, as in "17 double-holds"; empty:
	// it is named by the property.
	Violation string
	// Demands says what holds when the property is not violated.
	Demands string
	// Once and More are the headline of a report where this property is the worst
	// that was violated, once or more often. Empty: the violation's own sentence is.
	Once, More string
	// Lead and Advice say what to do about a violation.
	Lead, Advice string
	// Weight is how much of the story a violation tells beside those of other
	// properties; 0 is the least.
	Weight int
}

// properties are all of them, in the order in which a verdict has them.
var properties = placed(
	&mutualExclusion,
	&unfencedWrite,
	&lostUpdate,
	&staleRead,
	&duplicateEffect,
	&tokenOrder,
	&continuity,
	&deadGrant,
	&deadRenewal,
	&stolenRelease,
	&stuckLock,
	&falseBusy,
	&falseLoss,
	&keptKey,
	&fifo,
	&starvation,
	&deadlock,
	&herd,
	&oncePerTick,
	&overlapping,
	&missedTick,
	&stopDeadline,
	&handover,
	&releasedOnStop,
)

func placed(list ...*Property) []*Property {
	for i, p := range list {
		p.place = i
	}
	return list
}

// Properties lists the properties in the order in which a verdict has them.
func Properties() []Property {
	list := make([]Property, len(properties))
	for i, p := range properties {
		list[i] = *p
	}
	return list
}

// Names lists the names of the properties.
func Names() []string {
	names := make([]string, len(properties))
	for i, p := range properties {
		names[i] = p.Name
	}
	return names
}

// Named returns the property of that name; an empty one where there is none.
func Named(name string) Property {
	for _, p := range properties {
		if p.Name == name {
			return *p
		}
	}
	return Property{}
}

// notClaimed says why the header alone, by the lock's claims, the workload or
// what it says is not told, leaves a property out; empty when it does not.
func (p *Property) notClaimed(h *history.Header) string {
	if why := p.amiss(h.Untold); why != "" || p.exempt == nil {
		return why
	}
	return p.exempt(h)
}

// amiss says what a header's Untold, or its Doubts, have against the property;
// empty: nothing. Headers of older versions name the property itself.
func (p *Property) amiss(facts map[string]string) string {
	for _, fact := range p.needs {
		if why := facts[fact]; why != "" {
			return why
		}
	}
	return facts[p.Name]
}

// concerns reports whether a verdict on a history has the property at all.
func (p *Property) concerns(h *history.Header) bool {
	return h.Claims.Job != "" || !p.ofJobs && (!p.ofStops || h.Claims.StopHandover > 0)
}

// noLock says that the lock claims no exclusion; empty when it does.
func noLock(h *history.Header) string {
	if h.Claims.Job != "" {
		return "These are executions of a job, and no holds of a lock."
	}
	if h.Claims.Permits <= 0 {
		return "This is no lock: it claims no exclusion."
	}
	return ""
}

// notExclusive says why a property for exclusive locks is not judged; empty when it is.
func notExclusive(h *history.Header) string {
	if why := noLock(h); why != "" || h.Claims.Permits == 1 {
		return why
	}
	return "It is defined for exclusive locks, and this one has more than one permit."
}

// noStore says that there is nothing that the lock protects; empty when there is.
func noStore(s *Sweep) string {
	if s.rules.Store.Engine == "" && s.ledger.entries == 0 {
		return "The run had no protected resource."
	}
	return ""
}

// noneOf says in a sentence that there was nothing to judge by; empty where n says that there was.
func noneOf(n int64, sentence string) string {
	if n == 0 {
		return sentence
	}
	return ""
}

// KindNames returns the kinds that a violation of the property may be of; nil: it has none.
func (p *Property) KindNames() []string {
	if p.Kinds != nil {
		return p.Kinds
	}
	return p.kinds
}
