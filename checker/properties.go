package checker

import (
	"fmt"
	"slices"
)

// Property is one property that a history is judged by.
type Property struct {
	Name string `json:"name"`
	// About says in a sentence what holds when it is not violated.
	About string `json:"about"`
}

// Properties lists the properties in the order in which a verdict has them.
func Properties() []Property { return slices.Clone(properties[:]) }

var properties = [propertyCount]Property{
	mutualExclusion: {MutualExclusion, "No more clients act as holders of a key at one time than it has permits, and no grant is made while it is promised to others."},
	unfencedWrite:   {UnfencedWrite, "The store accepts no write of an earlier holder after one of a later holder."},
	lostUpdate:      {LostUpdate, "No accepted write replaces a version that its holder had not read."},
	duplicateEffect: {DuplicateEffect, "What must be done once is done once: no order is charged twice, no tick runs twice."},
	tokenOrder:      {TokenOrder, "Fencing tokens rise with every grant, and no two clients are given the same one."},
	continuity:      {Continuity, "An answer that confirms a hold is not given once another client has been granted the key."},
	deadGrant:       {DeadGrant, "No acquire succeeds with a lease that has already run out."},
	stolenRelease:   {StolenRelease, "A release of a grant whose lease is over frees nobody else's."},
	stuckLock:       {StuckLock, "When the faults are healed and nobody can hold the key any more, a fresh client acquires it."},
	fifo:            {FIFO, "Waiters are granted the key in the order in which they were enqueued."},
	starvation:      {Starvation, "No client waits while the key is granted more than ten times for each client of the run."},
	deadlock:        {Deadlock, "No clients wait for each other's keys in a cycle."},
	herd:            {Herd, "A release wakes one waiter: the requests for a hand-over do not grow with the number of waiters."},
}

var propertyNames = [propertyCount]string{mutualExclusion: MutualExclusion, unfencedWrite: UnfencedWrite, lostUpdate: LostUpdate,
	duplicateEffect: DuplicateEffect, tokenOrder: TokenOrder, continuity: Continuity, deadGrant: DeadGrant, stolenRelease: StolenRelease,
	stuckLock: StuckLock, fifo: FIFO, starvation: Starvation, deadlock: Deadlock, herd: Herd}

var outcomeNames = [...]string{Inconclusive: "inconclusive", Pass: "pass", Violated: "violated", NotJudged: "not judged"}

var severityNames = [...]string{SeverityNone: "none", Untested: "untested", Contained: "contained", Corrupting: "corrupting"}

// String returns the outcome's name, "inconclusive" for one that does not exist.
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return outcomeNames[Inconclusive]
}

// MarshalText writes the outcome's name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads the outcome's name.
func (o *Outcome) UnmarshalText(text []byte) error {
	i := slices.Index(outcomeNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown outcome %q: want one of %q", text, outcomeNames)
	}
	*o = Outcome(i)
	return nil
}

// String returns the severity's name.
func (v Severity) String() string {
	if int(v) < len(severityNames) {
		return severityNames[v]
	}
	return severityNames[SeverityNone]
}

// MarshalText writes the severity's name.
func (v Severity) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the severity's name.
func (v *Severity) UnmarshalText(text []byte) error {
	i := slices.Index(severityNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown severity %q: want one of %q", text, severityNames)
	}
	*v = Severity(i)
	return nil
}

// Property returns the result of a property, nil when the verdict has none of that name.
func (v *Verdict) Property(name string) *PropertyResult {
	for i := range v.Properties {
		if v.Properties[i].Name == name {
			return &v.Properties[i]
		}
	}
	return nil
}
