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

// Steps are the lines of an op: one, or that on which it was asked and that on which it was answered.
func (s *Source) Steps(id int64) []Step {
	o := s.op(id)
	if o == nil {
		return nil
	}
	who := s.log.owners.List[o.owner]
	said := o.said(s.Keys[o.key])
	if said == lostTheLock {
		said = cmp.Or(s.log.loss, said)
	}
	end := Step{Line: int(o.endLine), At: o.ret, Timed: s.log.timed && o.ret != never, Client: who, What: said}
	if o.line == o.endLine {
		return []Step{end}
	}
	asks := Step{Line: int(o.line), At: o.inv, Timed: s.log.timed, Client: who, What: "asks: " + o.kind.String() + " " + s.Keys[o.key]}
	if o.outcome == history.TypeNone {
		return []Step{asks}
	}
	return []Step{asks, end}
}

const lostTheLock = "is told that it lost the lock"

// said is what the answer of an op says.
func (o *op) said(key string) string {
	word := o.kind.String() + " " + key
	switch o.shown {
	case shownAgain:
		return history.Acquire.String() + " " + key + " again"
	case shownInner:
		return history.Release.String() + " " + key + ", and not for the last time"
	case shownRelease:
		return history.Release.String() + " " + key
	case shownLoss:
		return lostTheLock
	}
	if o.token != 0 {
		word += fmt.Sprintf(" (token %d)", o.number())
	}
	switch {
	case o.outcome == history.Lost:
		return lostTheLock
	case o.inferred:
		return "writes with a token whose grant the log lacks"
	case o.busy:
		return word + ": busy"
	case o.notHeld:
		return word + ": not held"
	case o.refused:
		return word + ": refused"
	case o.outcome == history.Info:
		return word + ": nobody knows"
	case o.outcome == history.Fail:
		return word + ": failed"
	}
	return word
}
