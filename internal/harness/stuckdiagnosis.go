package harness

import (
	"context"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/internal/harness/director"
	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"golang.org/x/sync/errgroup"
)

// This file finds out why a key is stuck. A fresh client asks for it first. If that is
// refused too, the workload's clients are closed one after the other, and after
// each a fresh client asks again. The history then tells whose end freed the key.

// mostAlone is how many clients are closed one after the other. The rest are
// closed together: each takes its time.
const mostAlone = 7

// lookEvery is the pause between two looks for a key that nobody gets.
const lookEvery = 100 * time.Millisecond

// answer is what a fresh client came to.
type answer uint8

const (
	unanswered answer = iota // errors, which say nothing about the lock
	refused                  // busy, or no grant within the bound
	granted
)

// diagnoseStuckKeys looks for keys that nobody gets, and finds out why, until every application
// has left.
func (r *run) diagnoseStuckKeys(ctx context.Context, left <-chan struct{}) error {
	if r.Claims().Permits <= 0 {
		return nil // it is no lock
	}
	for clock.Pause(ctx, left, lookEvery) && !clock.Closed(left) {
		calm, undisturbed := r.director.UndisturbedSince()
		key, stuck := r.stuckWatch.stuck(monotime.Now(), calm)
		if !undisturbed || !stuck || !r.director.Suspend() {
			continue
		}
		if err := r.diagnose(ctx, key, left); err != nil {
			return err
		}
	}
	return nil
}

// diagnose finds out why a key is stuck, while the workload goes on and no fault
// strikes. Clients that it closes stay away until it is over.
func (r *run) diagnose(ctx context.Context, key string, left <-chan struct{}) error {
	over := make(chan struct{})
	r.Enter(history.PhaseAsk)
	defer func() {
		r.Enter(history.PhaseRun)
		close(over)
		r.director.Resume()
	}()
	got, err := r.askFresh(ctx, key, r.FirstAsk(), left)
	if got == refused && err == nil {
		got, err = r.closeSuspects(ctx, key, r.stuckWatch.suspects(key, r.director.Present()), left,
			func(ctx context.Context, client int32) error {
				return r.closeSuspect(ctx, client, over)
			})
	}
	r.stuckWatch.tried(key, got == refused)
	return err
}

// closeSuspects closes the suspects one after the other, and lets a fresh
// client ask for the key after each, until one is granted it or stop is closed.
func (r *run) closeSuspects(ctx context.Context, key string, suspects []int32, stop <-chan struct{},
	end func(context.Context, int32) error) (answer, error) {
	for _, group := range suspectGroups(suspects) {
		if clock.Closed(stop) {
			break
		}
		var ending errgroup.Group
		for _, client := range group {
			ending.Go(func() error { return end(ctx, client) })
		}
		if err := ending.Wait(); err != nil {
			return refused, err
		}
		if got, err := r.askFresh(ctx, key, r.Patience(), stop); got != refused || err != nil {
			return got, err
		}
	}
	return refused, nil
}

// suspectGroups puts each of the first suspects into a group of its own, and the others into one.
func suspectGroups(suspects []int32) (groups [][]int32) {
	n := min(len(suspects), mostAlone)
	for i := range n {
		groups = append(groups, suspects[i:i+1])
	}
	if rest := suspects[n:]; len(rest) > 0 {
		groups = append(groups, rest)
	}
	return groups
}

// askFresh lets a fresh client ask for a key. It is closed when it has the
// answer: what it leaves behind must not be in the next one's way.
func (r *run) askFresh(ctx context.Context, key string, limit time.Duration, stop <-chan struct{}) (answer, error) {
	w := r.probes[0]
	if err := r.open(ctx, w); err != nil {
		return unanswered, err
	}
	got, err := r.ask(ctx, w, key, limit, stop)
	if err != nil {
		return unanswered, err
	}
	if err := r.end(ctx, w); err != nil {
		return got, err
	}
	r.probes[0], err = r.succeed(w)
	return got, err
}

// ask lets a fresh client ask for a key until it is granted it, and give it back, unless
// applications never do that. It asks for as long as the judge may demand, if it is told
// busy at once; limit bounds each acquire.
func (r *run) ask(ctx context.Context, w *workerProcess, key string, limit time.Duration, stop <-chan struct{}) (answer,
	error) {
	began := time.Now()
	for {
		answered := make(chan struct{})
		go w.giveUpAt(stop, answered)
		id, a, err := w.Do(ctx, wire.Op{Kind: history.Acquire, Key: key, Timeout: limit})
		close(answered)
		if err != nil {
			return unanswered, err
		}
		switch workload := r.cfg.Plan.Scenario.Workload; {
		case a.Result != wire.ResultOK:
		case workload.NeverRelease:
			return granted, nil
		default:
			_, _, err := w.Do(ctx, wire.Op{Kind: history.Release, Key: key, Grant: id,
				Timeout: workload.OpTimeout.Std()})
			return granted, err
		}
		if clock.Closed(stop) || time.Since(began) >= min(limit, r.Patience()+record.AskMargin) {
			if a.Result == wire.ResultFail && !a.Busy {
				return unanswered, nil
			}
			return refused, nil
		}
		if !clock.Pause(ctx, stop, record.AskEvery) {
			return unanswered, context.Cause(ctx)
		}
	}
}

// closeSuspect has one of the workload's clients closed. It gives up what it waits for; the
// application's own goroutine closes it, when it has been answered, and starts a fresh process
// when the diagnosis is over. One whose application does something else, or has left, stays.
func (r *run) closeSuspect(ctx context.Context, client int32, over <-chan struct{}) error {
	s := r.cfg.Plan.Scenario
	ended, tick := make(chan struct{}), time.NewTicker(record.AskEvery)
	defer tick.Stop()
	w := r.director.Retire(client, &director.Closing{Ended: ended, Over: over})
	if w == nil {
		return nil
	}
	late := time.NewTimer((s.Workload.AcquireTimeout + s.Workload.OpTimeout).Std())
	defer late.Stop()
	for {
		_ = w.SignalAlone(wire.GiveUp) // it may be gone, and that is noticed elsewhere
		select {
		case <-ended:
			return nil
		case <-tick.C:
		case <-late.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
