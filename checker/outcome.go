package checker

import (
	"fmt"
	"slices"
)

// Outcome is the result of judging one property, or a whole history. The zero
// value is Inconclusive, so a result that nobody filled in can never pass.
type Outcome uint8

// The outcomes.
const (
	Inconclusive Outcome = iota
	Pass
	Violated
	// NotJudged: the lock makes no claim that this property could hold against
	// it. It is never a pass.
	NotJudged
)

// Severity says what a run's double-holds did to the data.
type Severity uint8

// The severities, in rising order.
const (
	SeverityNone Severity = iota
	// Untested: nothing stale reached the store.
	Untested
	// Contained: no stale write was accepted, and the fence refused at least
	// one act of an overlapping hold.
	Contained
	// Corrupting: one of the two holds has an unfenced write or a lost update.
	Corrupting
)

var outcomeNames = [...]string{Inconclusive: "inconclusive", Pass: "pass", Violated: "violated",
	NotJudged: "not judged"}

var severityNames = [...]string{SeverityNone: "none", Untested: "untested", Contained: "contained",
	Corrupting: "corrupting"}

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
