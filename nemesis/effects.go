package nemesis

import (
	"errors"
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// What a fault does to those whom it strikes, as its Spec tells, and which may strike together.

// OnClocks reports whether the fault lies in the clocks that processes read.
func (s Spec) OnClocks() bool { return slices.Contains(s.kind().takes, "clock") }

// strobes reports whether the fault lets a clock jump to and fro.
func (s Spec) strobes() bool { return s.OnClocks() && slices.Contains(s.kind().takes, "period") }

// Stops reports whether the fault keeps processes stopped while it lasts.
func (s Spec) Stops() bool { return s.Freezes() || s.kind().Touch.Stops == history.StopsShare }

// Freezes reports whether it keeps them stopped all the time.
func (s Spec) Freezes() bool { return s.kind().Touch.Stops == history.StopsProcesses }

// Kills reports whether the fault ends the processes of clients.
func (s Spec) Kills() bool { return s.kind().Touch.EndsClient() }

// InOrder reports whether it has them close what they have first.
func (s Spec) InOrder() bool { return s.kind().Touch.Ends == history.EndsClosed }

// Momentary reports whether no plan says how long the fault lasts: it is over as soon as it has
// struck, however long its consequences last, or it takes as long as it does.
func (s Spec) Momentary() bool {
	if s.kind().lasts {
		return false
	}
	if s.kind().ownLength {
		return true
	}
	switch s.kind().Touch.Ends {
	case history.EndsProcess, history.EndsClosed, history.EndsSession:
		return true
	case history.EndsConnection:
		return !s.Silent
	}
	return false
}

// EndsSessions reports whether it may end a connection or a session from outside,
// and with it a grant that lasts as long.
func (s Spec) EndsSessions() bool { return s.kind().endsSessions }

// MayMiss reports whether the fault may find nobody to strike, so that nothing
// was done (ErrMissed).
func (s Spec) MayMiss() bool { return s.kind().mayMiss }

// Ousts reports whether the fault ends a client in whose place another one
// comes, which its runtime starts.
func (s Spec) Ousts() bool { return s.kind().ousts }

// OfNode reports whether it is done to all clients of a node of the cluster.
func (s Spec) OfNode() bool { return s.kind().ofNode }

// NeedsCluster reports whether it strikes only what a cluster runs.
func (s Spec) NeedsCluster() bool { return s.kind().Needs == NeedsCluster }

// NeedsLocal reports whether it strikes only servers that lockchaos itself has started.
func (s Spec) NeedsLocal() bool {
	needs := s.kind().Needs
	return needs == NeedsLocal || needs == NeedsLocalFilter
}

// CheckTogether reports whether the faults can strike the same victims at the
// same moment. Each for itself is checked by Check.
func CheckTogether(specs []Spec) error {
	if len(specs) < 2 {
		return errors.New("what strikes together is two faults at least")
	}
	for i, a := range specs {
		if a.kind().alone {
			return fmt.Errorf("a %s strikes alone: no other fault can strike together with it", a.Kind)
		}
		for _, b := range specs[i+1:] {
			if err := conflict(a, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// conflict says why two faults can't strike together; nil: they can.
func conflict(a, b Spec) error {
	switch {
	case a.Kind == b.Kind:
		return fmt.Errorf("a %s together with a %s: what they did could not be told apart", a.Kind, b.Kind)
	case a.OnClocks() && b.OnClocks():
		return fmt.Errorf("a %s together with a %s: both change clocks, and what heals one would heal both", a.Kind,
			b.Kind)
	case a.strobes() && b.Stops():
		return fmt.Errorf("a %s together with a %s: a clock cannot jump to and fro in a process that is stopped",
			a.Kind, b.Kind)
	case b.strobes() && a.Stops():
		return conflict(b, a)
	case a.Stops() && b.Stops():
		return fmt.Errorf("a %s together with a %s: both stop the same processes, and what heals one would heal both",
			a.Kind, b.Kind)
	}
	return nil
}
