package clock

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Time is how time passes for a run. Real is the machine's; package simulated has the virtual one.
type Time interface {
	// Now is the clock of stamps (ns).
	Now() int64
	// After calls do when d has passed, or as soon as ctx has ended: then whole is false. stop
	// keeps do from being called, and reports false if it is too late for that.
	After(ctx context.Context, d time.Duration, do func(whole bool)) (stop func() bool)
	// Go starts do beside its caller: a goroutine, or a task of a simulation.
	Go(do func(Waiter))
}

// Waiter is what waits: one that Time.Go has started.
type Waiter interface {
	// Await waits until ready reports true, at the longest for d, until early is closed or ctx has
	// ended. The code that makes ready true calls Wake.
	Await(ctx context.Context, early <-chan struct{}, d time.Duration, ready func() bool)
	// Wake has Await look again. Any goroutine may call it.
	Wake()
}

// Forever is longer than any run.
const Forever = 10_000 * time.Hour

// Real is the machine's time.
type Real struct{}

// Now is the machine's monotonic clock.
func (Real) Now() int64 { return monotime.Now() }

// After calls do on a goroutine of its own.
func (Real) After(ctx context.Context, d time.Duration, do func(whole bool)) (stop func() bool) {
	var decided atomic.Bool // it is called, or never
	stopped := make(chan struct{})
	go func() {
		whole := Pause(ctx, stopped, d)
		if decided.CompareAndSwap(false, true) {
			do(whole)
		}
	}()
	return func() bool {
		if !decided.CompareAndSwap(false, true) {
			return false
		}
		close(stopped)
		return true
	}
}

// Go starts a goroutine.
func (Real) Go(do func(Waiter)) { go do(goroutine{make(chan struct{}, 1)}) }

// goroutine is the Waiter of one. A wake that comes before the wait is kept for it.
type goroutine struct{ woken chan struct{} }

func (g goroutine) Wake() {
	select {
	case g.woken <- struct{}{}:
	default:
	}
}

func (g goroutine) Await(ctx context.Context, early <-chan struct{}, d time.Duration, ready func() bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	for !ready() {
		select {
		case <-g.woken:
		case <-t.C:
			return
		case <-early:
			return
		case <-ctx.Done():
			return
		}
	}
}
