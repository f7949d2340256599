package nemesis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/hosts"
)

// Standstills: the runtime of a client's program keeps everything in it from going on, and nobody
// stopped its process: a collection, or an event loop that is blocked. The program is an adapter.
// What lockchaos runs of that client, its application, is stopped for as long: it stands for
// threads of the same program, which would stand still as well.

// standsStill is what such a fault does.
func standsStill(words history.FaultWords) history.Touch {
	return history.Touch{Stops: history.StopsProcesses, Words: words}
}

// standstillLimit is how long a runtime may take to stop and go on. A collection of a heap of some
// gigabytes takes ten seconds; it cannot be broken off.
const standstillLimit = 2 * time.Minute

// runtimeStop is what a runtime says of its standstill. Between from and to it was certain
// (monotime.Now).
type runtimeStop struct {
	from, to int64
	proof    string
}

// effectWith is the effect of a standstill: the time in which the runtime stood still, and the rest
// of the client was stopped.
func (r runtimeStop) effectWith(others *hosts.Pause) Effect {
	return Effect{From: max(r.from, others.Stopped), To: min(r.to, others.Resuming), Proof: r.proof}
}

// standStill has the runtime of a client's program stand still, while the rest of the client's
// processes are stopped, and returns when all of them go on.
func standStill(ctx context.Context, p *hosts.Process, pid int, do func(context.Context) (runtimeStop, error)) (e Effect, err error) {
	stopping, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	others, err := p.StopOthers(stopping, pid)
	if err != nil {
		return e, err
	}
	stop, err := do(ctx)
	resumed := others.Resume()
	if err = errors.Join(err, resumed); err != nil {
		return e, err
	}
	return stop.effectWith(others), nil
}

// exceeds says in the proof whether the lease was over by then, as it has to be for a bite.
func (e *Effect) exceeds(lease time.Duration) {
	e.To = max(e.From, e.To)
	e.Bit = lease > 0 && e.Lasted() > lease
	verdict := "longer than"
	if !e.Bit {
		verdict = "not longer than"
	}
	e.Proof += fmt.Sprintf("; certainly for %.0f ms, %s the lease of %v", ms(e.Lasted()), verdict, lease)
}

// checkProgram reports whether the lock is a program of the user's own, which has a runtime.
func checkProgram(s Spec, at Setting) error {
	if !at.has(OwnProgram) {
		return fmt.Errorf("a %s needs a lock that is a program of its own (an adapter): %s runs in lockchaos itself", s.Kind, at.Lock)
	}
	return nil
}

// Ready reports whether a client that is up can be struck by the fault, by what its program is.
func (s Spec) Ready(ctx context.Context, c Client) error {
	k := s.kind()
	if k.ready == nil {
		return nil
	}
	if err := k.ready(ctx, c); err != nil {
		return fmt.Errorf("%s: %w", s.Kind, err)
	}
	return nil
}
