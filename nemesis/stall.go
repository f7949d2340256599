package nemesis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Part is a part of a client's program that can be held up from inside, while the rest of it runs.
type Part string

// The parts.
const (
	// PartApplication is the goroutine of the application: it does nothing, and the lock's own ones renew.
	PartApplication Part = "application"
	// PartRenewals are the renewals that the lock makes by itself, while the application goes on.
	PartRenewals Part = "renewals"
)

// Application is a client's program, as far as it is held up from inside.
type Application interface {
	// HoldUp holds a part of it up for that long. It returns when that has begun, and since when; over waits for the end.
	HoldUp(ctx context.Context, part Part, d time.Duration) (from int64, over func(context.Context) (HeldUp, error), err error)
}

// HeldUp is what the program says of a part that was held up. From and To are its stamps (monotime.Now).
type HeldUp struct {
	From, To int64
	// Count is, of the application, how often the heart of the process beat meanwhile; of renewals, how many were held up.
	Count int64
}

// parts are what the kinds hold up.
var parts = map[string]Part{KindStall: PartApplication, KindRenewerStall: PartRenewals}

// Inside tells whether the fault holds up a part of a client's program, whose other parts run on.
func (s Spec) Inside() bool { return parts[s.Kind] != "" }

// checkStall tells whether there is such a stall.
func checkStall(s Spec, _ []string) error {
	if s.When == Acquiring {
		return fmt.Errorf("a %s strikes who holds, not at %s: an acquire is the lock's own code, and the application waits for it anyway", s.Kind, Acquiring)
	}
	return nil
}

// Stall is a part of a program that is held up.
type Stall struct {
	spec Spec
	ctx  context.Context // of the run
	from int64
	over func(context.Context) (HeldUp, error)

	heal   sync.Once
	effect Effect
	err    error
}

// stallSlack is how much later than planned a program may say that it goes on: it may be in the middle of a call, and its machine busy.
const stallSlack = 30 * time.Second

// StallPart holds up what the kind says, for that long.
func StallPart(ctx context.Context, s Spec, app Application, d time.Duration) (*Stall, error) {
	limited, cancel := context.WithTimeout(ctx, stallSlack)
	defer cancel()
	from, over, err := app.HoldUp(limited, parts[s.Kind], d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Kind, err)
	}
	return &Stall{spec: s, ctx: ctx, from: from, over: over}, nil
}

// From is since when the part was held up.
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
	told, err := s.over(ctx)
	if err != nil {
		return Effect{From: s.from}, fmt.Errorf("%s: %w", s.spec.Kind, errors.Join(err, context.Cause(s.ctx)))
	}
	e := Effect{From: told.From, To: told.To, Bit: told.Count > 0}
	length := e.Lasted().Round(time.Millisecond)
	if s.spec.Kind == KindStall {
		e.Proof = fmt.Sprintf("the application did nothing for %v, by its own stamps; the heart of its process beat %d times", length, told.Count)
	} else {
		e.Proof = fmt.Sprintf("renewals held up for %v: %d, by the process's own count", length, told.Count)
	}
	return e, nil
}
