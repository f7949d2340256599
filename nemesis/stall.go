package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/history"
)

// KindStall is the fault that holds up the application alone.
const KindStall = "stall"

var stall = Kind{Name: KindStall, Needs: NeedsNothing, alone: true, single: true, Ours: true, check: checkStall,
	Touch: history.Touch{Stops: history.StopsApplication, Words: history.FaultWords{Did: "stalled",
		Client: "stops working while its lock goes on renewing", Doc: "stall"}},
	About: "holds up the application of a client, and nothing else in its process: what the lock renews by itself is renewed",
	draws: []Draw{{Weight: 1, of: func(d Dice) Part { return aimed(Holder, AfterGrant, d.share(0.5, 2.5, 1)) }}},
	inject: func(ctx context.Context, s *Site) (InEffect, error) {
		return StallIn(ctx, s.Part, ActivityApplication, s.Clients[0].App)
	}}

// inside reports whether the kind holds up an activity of a client's program, whose others go on.
func (k Kind) inside() bool {
	return k.Touch.Stops == history.StopsApplication || k.Touch.Stops == history.StopsRenewals
}

// Activity is one of the things that a client's program does side by side, as
// far as it is held up from inside while the others go on.
type Activity string

// The activities.
const (
	// ActivityApplication is the goroutine of the application: it does nothing,
	// and the lock's own ones renew.
	ActivityApplication Activity = "application"
	// ActivityRenewals are the renewals that the lock makes by itself, while
	// the application goes on.
	ActivityRenewals Activity = "renewals"
)

// Application is a client's program.
type Application interface {
	// HoldUp holds an activity of it up for that long. It returns when that has
	// begun, and since when; over waits for the end.
	HoldUp(ctx context.Context, what Activity, d time.Duration) (from int64, over func(context.Context) (StallReport, error),
		err error)
}

// StallReport is what the program says of an activity that was held up. From and To
// are its stamps (monotime.Now).
type StallReport struct {
	From, To int64
	// Count is, of the application, how often the heart of the process beat
	// meanwhile; of renewals, how many were held up.
	Count int64
}

// checkStall reports whether there is such a stall.
func checkStall(s Spec, _ Setting) error {
	if s.Target != Holder {
		return fmt.Errorf("a %s strikes who holds: target %s, not %q, which may be in the middle of an acquire", s.Kind,
			Holder, s.Target)
	}
	if s.When == Acquiring {
		return fmt.Errorf("a %s strikes who holds, not at %s: an acquire is the lock's own code, and the application waits for it anyway", s.Kind, Acquiring)
	}
	return nil
}

// Stall is an activity of programs that is held up.
type Stall struct {
	kind string
	what Activity
	ctx  context.Context // of the run
	from int64
	over []func(context.Context) (StallReport, error)

	heal   sync.Once
	effect Effect
	err    error
}

// stallSlack is how much later than planned a program may say that it goes on:
// it may be in the middle of a call, and its machine busy.
const stallSlack = 30 * time.Second

// StallIn holds an activity up in the programs, for as long as planned.
func StallIn(ctx context.Context, s Part, what Activity, apps ...Application) (*Stall, error) {
	limited, cancel := context.WithTimeout(ctx, stallSlack)
	defer cancel()
	stall := &Stall{kind: s.Kind, what: what, ctx: ctx}
	for _, app := range apps {
		from, over, err := app.HoldUp(limited, what, s.For)
		if err != nil {
			// what is held up already goes on by itself
			return nil, fmt.Errorf("%s: %w", s.Kind, err)
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

// Heal waits for the end, which comes by itself: who called for it did so with its length.
// The proof is what ran, or waited, meanwhile; if nothing did, the fault was none.
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
			return e, fmt.Errorf("%s: %w", s.kind, errors.Join(err, context.Cause(s.ctx)))
		}
		if e.To == 0 || told.To < e.To {
			e.To = told.To
		}
		e.Bit = e.Bit || told.Count > 0
		proofs = append(proofs, s.what.heldUpFor(told))
	}
	e.Proof = strings.Join(proofs, "; ")
	return e, nil
}

// heldUpFor is the proof of one program.
func (a Activity) heldUpFor(told StallReport) string {
	length := time.Duration(told.To - told.From).Round(time.Millisecond)
	if a == ActivityApplication {
		return fmt.Sprintf("the application did nothing for %v, by its own stamps; the heart of its process beat %d times", length, told.Count)
	}
	return fmt.Sprintf("renewals held up for %v: %d, by the process's own count", length, told.Count)
}
