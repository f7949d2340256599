package nemesis

import (
	"context"
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/hosts"
)

// stopLimit is how long the kernel may take to stop every thread; it takes a millisecond, unless the machine is overloaded.
const stopLimit = 5 * time.Second

// slowStop is from when on the time between signal and proof is worth telling.
const slowStop = 20 * time.Millisecond

// Pause is a stop of a process and everything in its group, as by a stop-the-world garbage collection, a suspended virtual machine or
// a starved container: it notices nothing, and when it goes on, only clocks tell.
type Pause struct{ stopped *hosts.Pause }

// Effect is what a fault was measured to have done.
type Effect struct {
	// From and To bound the time in which the fault was certainly in effect (monotime.Now stamps).
	From, To int64
	// Proof says what was seen, in words and figures.
	Proof string
}

// Lasted is how long the fault was certainly in effect.
func (e Effect) Lasted() time.Duration { return time.Duration(e.To - e.From) }

// StartPause stops the process, and returns when every thread of its group has been seen stopped.
func StartPause(ctx context.Context, p *hosts.Process) (*Pause, error) {
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	stopped, err := p.Stop(ctx)
	if err != nil {
		return nil, fmt.Errorf("pause: %w", err)
	}
	return &Pause{stopped}, nil
}

// From is when every thread had been seen stopped.
func (p *Pause) From() int64 { return p.stopped.Stopped }

// Heal lets the process go on. The error says that the evidence is broken: something ran or died meanwhile. The process
// goes on all the same.
func (p *Pause) Heal() (Effect, error) {
	err := p.stopped.Resume()
	e := Effect{From: p.stopped.Stopped, To: p.stopped.Resuming, Proof: p.stopped.Evidence()}
	// On a busy machine some threads stand still long before the last one is seen to: then the pause was longer than what is proven.
	if slow := time.Duration(p.stopped.Stopped - p.stopped.Signalled); slow > slowStop {
		e.Proof += fmt.Sprintf(", %v after the signal to stop", slow.Round(time.Millisecond))
	}
	if err != nil {
		return e, fmt.Errorf("pause: %w", err)
	}
	return e, nil
}
