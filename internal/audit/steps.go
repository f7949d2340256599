package audit

import (
	"cmp"
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// Step is one line of a file: what it says that a client did.
type Step struct {
	Line   int
	At     int64 // of the translated history, as the line says and not widened by the clocks' error
	Timed  bool
	Client string
	What   string // in words
}

// Steps are the lines of an op: one, or that on which it was asked and that on
// which it was answered.
func (s *Source) Steps(id int64) []Step {
	o := s.op(id)
	if o == nil {
		return nil
	}
	who := s.log.Owners.List[o.Owner]
	said := o.answerText(s.Keys[o.Key])
	if said == lostTheLock {
		said = cmp.Or(s.log.Loss, said)
	}
	end := Step{Line: int(o.EndLine), At: o.Ret, Timed: !s.log.Untimed && o.Ret != never, Client: who, What: said}
	if o.Line == o.EndLine {
		return []Step{end}
	}
	asks := Step{Line: int(o.Line), At: o.Inv, Timed: !s.log.Untimed, Client: who,
		What: "asks: " + o.Kind.String() + " " + s.Keys[o.Key]}
	if o.Outcome == history.TypeNone {
		return []Step{asks}
	}
	return []Step{asks, end}
}

const lostTheLock = "is told that it lost the lock"

// answerText is what the answer of an op says.
func (o *op) answerText(key string) string {
	word := o.Kind.String() + " " + key
	switch o.judgedAs {
	case shownAgain:
		return history.Acquire.String() + " " + key + " again"
	case shownInner:
		return history.Release.String() + " " + key + ", and not for the last time"
	case shownRelease:
		return history.Release.String() + " " + key
	case shownLoss:
		return lostTheLock
	}
	if o.Token != 0 {
		word += fmt.Sprintf(" (token %d)", o.Token)
	}
	switch {
	case o.Outcome == history.Lost:
		return lostTheLock
	case o.inferred:
		return "writes with a token whose grant the log lacks"
	case o.Busy:
		return word + ": busy"
	case o.NotHeld:
		return word + ": not held"
	case o.Refused:
		return word + ": refused"
	case o.Outcome == history.Info:
		return word + ": nobody knows"
	case o.Outcome == history.Fail:
		return word + ": failed"
	}
	return word
}
