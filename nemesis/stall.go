package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Activity is one of the things that a client's program does side by side, as far as it is held up from inside while the others go on.
type Activity string

// The activities.
const (
	// ActivityApplication is the goroutine of the application: it does nothing, and the lock's own ones renew.
	ActivityApplication Activity = "application"
	// ActivityRenewals are the renewals that the lock makes by itself, while the application goes on.
	ActivityRenewals Activity = "renewals"
)

// Application is a client's program.
type Application interface {
	// HoldUp holds an activity of it up for that long. It returns when that has begun, and since when; over waits for the end.
	HoldUp(ctx context.Context, what Activity, d time.Duration) (from int64, over func(context.Context) (HeldUp, error), err error)
}

// HeldUp is what the program says of an activity that was held up. From and To are its stamps (monotime.Now).
type HeldUp struct {
	From, To int64
	// Count is, of the application, how often the heart of the process beat meanwhile; of renewals, how many were held up.
	Count int64
}

// heldUp is what the kinds hold up.
var heldUp = map[string]Activity{KindStall: ActivityApplication, KindRenewerStall: ActivityRenewals}

// Inside tells whether the fault holds up an activity of a client's program, whose others go on.
func (s Spec) Inside() bool { return heldUp[s.Kind] != "" }

// checkStall tells whether there is such a stall.
func checkStall(s Spec, _ []string) error {
	if s.Target != Holder {
		return fmt.Errorf("a %s strikes who holds: target %s, not %q, which may be in the middle of an acquire", s.Kind, Holder, s.Target)
	}
	if s.Target != Holder {
		return fmt.Errorf("a %s strikes who holds: target %s, not %q; whoever waits is in the lock's own code", s.Kind, Holder, s.Target)
	}
	if s.When == Acquiring {
		return fmt.Errorf("a %s strikes who holds, not at %s: an acquire is the lock's own code, and the application waits for it anyway", s.Kind, Acquiring)
	}
	return nil
}

// Stall is an activity of programs that is held up.
type Stall struct {
	spec Spec
	ctx  context.Context // of the run
	from int64
	over []func(context.Context) (HeldUp, error)

	heal   sync.Once
	effect Effect
	err    error
}

// stallSlack is how much later than planned a program may say that it goes on: it may be in the middle of a call, and its machine busy.
const stallSlack = 30 * time.Second

// StallIn holds up what the kind says in the programs, for that long.
func StallIn(ctx context.Context, s Spec, d time.Duration, apps ...Application) (*Stall, error) {
	limited, cancel := context.WithTimeout(ctx, stallSlack)
	defer cancel()
	stall := &Stall{spec: s, ctx: ctx}
	for _, app := range apps {
		from, over, err := app.HoldUp(limited, heldUp[s.Kind], d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Kind, err) // what is held up already goes on by itself
		}
		stall.from, stall.over = max(stall.from, from), append(stall.over, over)
	}
	if len(apps) == 0 {
		return nil, fmt.Errorf("%s: of no client", s.Kind)
	}
	return stall, nil
}

// From is since when the activity was held up, in every program.
func (s *Stall) From() int64 { return s.from }

// Heal waits for the end, which comes by itself: who called for it did so with its length. The proof is what ran, or waited, meanwhile; if
// nothing did, the fault was none.
func (s *Stall) Heal() (Effect, error) {
	s.heal.Do(func() { s.effect, s.err = s.end() })
	return s.effect, s.err
}

func (s *Stall) end() (Effect, error) {
	ctx, cancel := context.WithTimeout(s.ctx, stallSlack)
	defer cancel()
	e := Effect{From: s.from}
	var proofs []string
	for _, over := range s.over {
		told, err := over(ctx)
		if err != nil {
			return e, fmt.Errorf("%s: %w", s.spec.Kind, errors.Join(err, context.Cause(s.ctx)))
		}
		if e.To == 0 || told.To < e.To {
			e.To = told.To
		}
		e.Bit = e.Bit || told.Count > 0
		proofs = append(proofs, s.spec.heldUpFor(told))
	}
	e.Proof = strings.Join(proofs, "; ")
	return e, nil
}

// heldUpFor is the proof of one program.
func (s Spec) heldUpFor(told HeldUp) string {
	length := time.Duration(told.To - told.From).Round(time.Millisecond)
	if s.Kind == KindStall {
		return fmt.Sprintf("the application did nothing for %v, by its own stamps; the heart of its process beat %d times", length, told.Count)
	}
	return fmt.Sprintf("renewals held up for %v: %d, by the process's own count", length, told.Count)
}
