package nemesis

import (
	"errors"
	"fmt"
)

// OnClocks tells whether the fault lies in the clocks that processes read.
func (s Spec) OnClocks() bool {
	k, err := kindOf(s.Kind)
	return err == nil && k.Needs == NeedsClocks
}

// Stops tells whether the fault keeps processes stopped while it lasts.
func (s Spec) Stops() bool {
	k, err := kindOf(s.Kind)
	return err == nil && k.stops
}

// MayMiss reports whether the fault may find nobody to strike, so that nothing was done (ErrMissed).
func (s Spec) MayMiss() bool { return s.Kind == KindExpireSession || s.Kind == KindFailover }

// CheckTogether tells whether the faults can strike the same victims at the same moment. Each for itself is checked by Check.
func CheckTogether(specs []Spec) error {
	if len(specs) < 2 {
		return errors.New("what strikes together is two faults at least")
	}
	for i, a := range specs {
		if k, err := kindOf(a.Kind); err == nil && k.alone {
			return fmt.Errorf("a %s strikes alone: no other fault can strike together with it", a.Kind)
		}
		for _, b := range specs[i+1:] {
			if err := apart(a, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// apart says why two faults can't strike together; nil: they can.
func apart(a, b Spec) error {
	switch {
	case a.Kind == b.Kind:
		return fmt.Errorf("a %s together with a %s: what they did could not be told apart", a.Kind, b.Kind)
	case a.OnClocks() && b.OnClocks():
		return fmt.Errorf("a %s together with a %s: both change clocks, and what heals one would heal both", a.Kind, b.Kind)
	case a.Kind == KindClockStrobe && b.Stops():
		return fmt.Errorf("a %s together with a %s: a clock cannot jump to and fro in a process that is stopped", a.Kind, b.Kind)
	case b.Kind == KindClockStrobe && a.Stops():
		return apart(b, a)
	case a.Stops() && b.Stops():
		return fmt.Errorf("a %s together with a %s: both stop the same processes, and what heals one would heal both", a.Kind, b.Kind)
	}
	return nil
}
