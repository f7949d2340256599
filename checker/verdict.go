package checker

import (
	"time"

	"github.com/lockchaos/lockchaos/history"
)

// Verdict is what a history was found to show.
type Verdict struct {
	Outcome  Outcome  `json:"outcome"`
	Severity Severity `json:"severity"`
	// Properties are in the order of Properties().
	Properties []PropertyResult `json:"properties"`
	// Patterns are the violations of all properties by what brought them about,
	// the largest group first.
	Patterns []PatternGroup `json:"patterns,omitempty"`
	// Reasons says why the verdict is inconclusive, in full sentences; also set
	// beside a violation that stands all the same.
	Reasons []string `json:"reasons,omitempty"`
	// Truncated: the history was cut.
	Truncated bool  `json:"truncated"`
	Stats     Stats `json:"stats"`
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

// PropertyResult is the judgement of one property.
type PropertyResult struct {
	Name    string  `json:"name"`
	Outcome Outcome `json:"outcome"`
	// Count is how often it was violated; Violations keeps those found first
	// (at most Options.Keep), in the order of their instants.
	Count      int         `json:"count"`
	Violations []Violation `json:"violations,omitempty"`
	// Kinds are how many of Count are of each of the property's Kinds; nil where it has none.
	Kinds map[string]int `json:"kinds,omitempty"`
	// Why explains an outcome that is neither pass nor violated, or adds to a
	// pass ("a fresh client acquired k0 within 210 ms").
	Why string `json:"why,omitempty"`
}

// Violation is one certain violation.
type Violation struct {
	Property string `json:"property"`
	// Kind refines it (see the constants Kind…).
	Kind string `json:"kind,omitempty"`
	// Pattern says how it came about (see Patterns); empty for a property that
	// is its own explanation.
	Pattern  string   `json:"pattern,omitempty"`
	Severity Severity `json:"severity,omitempty"`
	Key      string   `json:"key"`
	// At is the instant (ns) from which the violation is certain; From and To
	// bound the overlap of a double-hold.
	At   int64 `json:"at_ns"`
	From int64 `json:"from_ns,omitempty"`
	To   int64 `json:"to_ns,omitempty"`
	// A is the earlier grant and B the later one, where the property is about two.
	A *GrantRef `json:"a,omitempty"`
	B *GrantRef `json:"b,omitempty"`
	// Unordered: the history does not tell which of the two was granted the key
	// first, so neither is the earlier one.
	Unordered bool `json:"unordered,omitempty"`
	// Assumed: the kind is that of A as the earlier grant. The other order is
	// possible, and would be of a graver kind.
	Assumed bool `json:"assumed,omitempty"`
	// Ops are the ops that prove it, in order of time; a report shows just these first.
	Ops []int64 `json:"ops,omitempty"`
	// Faults are the IDs of the faults that touch it.
	Faults []int `json:"faults,omitempty"`
	// Text tells it in one plain sentence, with clients, times and tokens.
	Text string `json:"text"`
}

// GrantRef names a grant and what is known of its hold.
type GrantRef struct {
	Grant  int64 `json:"grant"` // the op of its acquire
	Client int32 `json:"client"`
	// Token may be 0: it is left out where there is none.
	Token history.Token `json:"token,omitempty"`
	// Mode is "read" or "write", of a reader-writer lock.
	Mode string `json:"mode,omitempty"`
	// Acquired is the end of the acquire, LastAct the start of the last act (0:
	// none), Promise the end of the promise (0: none), all ns.
	Acquired int64 `json:"acquired_ns"`
	LastAct  int64 `json:"last_act_ns,omitempty"`
	Promise  int64 `json:"promise_ns,omitempty"`
}

// FaultStats says of one planned fault, or of one kind that nobody planned, how
// often it was injected and what it met.
type FaultStats struct {
	// Plan is which of the planned faults it is, from 1 (history.Header.Faults), Planned the plan's
	// words for its place in time; 0 and "": nobody planned it, or the history does not tell.
	Plan     int    `json:"plan,omitempty"`
	Planned  string `json:"planned,omitempty"`
	Kind     string `json:"kind"`
	Target   string `json:"target,omitempty"`
	When     string `json:"when,omitempty"`
	Injected bool   `json:"injected"`
	// Begun counts how often it was injected, Bit how often that is proven,
	// MetHolder how often it then met a holder.
	Begun     int `json:"begun"`
	Bit       int `json:"bit"`
	MetHolder int `json:"met_holder"`
	// Evidence is the proof of the first that took effect.
	Evidence string `json:"evidence,omitempty"`
	// Shortest and Longest are the measured effects.
	Shortest time.Duration `json:"shortest_ns"`
	Longest  time.Duration `json:"longest_ns"`
}

// Options adjusts a judgement. The zero value is the usual one.
type Options struct {
	// Keep is how many violations of each property are kept with their particulars; 0 means 100.
	Keep int
	// KeepDefects keeps a double-hold that is a certain defect of the lock
	// though Keep others were found before it: the last of those goes.
	KeepDefects bool
	// OnViolation, when set, is called for each violation as soon as it is certain, in the order
	// of the history. A kind or severity that only later events decide may still be missing.
	OnViolation func(Violation)
}

// Judge judges a whole history in memory: New, Add for every event, Finish.
func Judge(h *history.History, o Options) Verdict {
	j := New(h.Header, h.Keys, o)
	for i := range h.Events {
		j.Add(&h.Events[i])
	}
	return j.Finish(h.Truncated)
}
