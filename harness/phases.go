package harness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/lockchaos/lockchaos/harness/clock"
	"github.com/lockchaos/lockchaos/harness/workload"
	"github.com/lockchaos/lockchaos/history"
	"golang.org/x/sync/errgroup"
)

// phases goes through the run: the workload with its faults; the probe, with losers alive
// and idle (they are closed one after the other if a fresh client is not granted a key); the
// closing of every client; the final probe. The ledger is followed all along and completed
// at the end; so are the waits for a processor, and what nodes say of their leader.
func (r *run) phases(ctx context.Context, cancel context.CancelCauseFunc) error {
	following, stopFollowing := context.WithCancel(ctx)
	defer stopFollowing()
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		if err := r.Ledger.Follow(following); err != nil {
			cancel(r.blame(err))
		}
	}()
	starving, err := r.watchWaits()
	if err != nil {
		return err
	}
	leaders := r.watchLeaders()
	var watched sync.WaitGroup
	for _, follow := range []func(context.Context) error{starving.follow, leaders.follow} {
		watched.Go(func() {
			if err := follow(following); err != nil {
				cancel(err)
			}
		})
	}
	if err := r.workload(ctx); err != nil {
		return err
	}
	if err := r.probe(ctx, history.PhaseProbe, 0, r.inquireIdle); err != nil {
		return err
	}
	r.Enter(history.PhaseClose)
	if err := r.endAll(ctx, append(r.workers, r.probes[0])...); err != nil {
		return err
	}
	if err := r.probe(ctx, history.PhaseFinal, 1, nil); err != nil {
		return err
	}
	if err := r.endAll(ctx, r.probes[1]); err != nil {
		return err
	}
	stopFollowing()
	<-followed
	watched.Wait()
	return r.Ledger.Take(ctx)
}

// workload drives every client for the planned time, or longer while too little
// has been shown, while the director injects the faults. When it returns nil,
// all faults are healed and every client has finished its round.
func (r *run) workload(ctx context.Context) error {
	r.Enter(history.PhaseRun)
	s := r.cfg.Plan.Scenario
	job, err := workload.New(workload.Setting{Scenario: s, Count: r.countRequests})
	if err != nil {
		return err
	}
	done, noMore := make(chan struct{}), make(chan struct{}) // no more faults
	work, workCtx := errgroup.WithContext(ctx)
	go r.spend(workCtx, s, noMore, done)
	var applications sync.WaitGroup
	for _, w := range r.workers {
		a := &workload.Actor{Client: w.Client, Plan: s.Workload, Keys: r.Keys,
			Rand:     r.cfg.Plan.Stream(fmt.Sprintf("client %d", w.Number)),
			Director: conducted{r.director, r}, Pass: clock.Pause, Done: done}
		applications.Add(1)
		work.Go(func() error {
			defer applications.Done()
			if err := job.Run(workCtx, a); err != nil {
				return err
			}
			return r.leave(workCtx, a)
		})
	}
	work.Go(func() error { return r.director.Run(workCtx, noMore) })
	left := make(chan struct{})
	go func() {
		applications.Wait()
		close(left)
	}()
	work.Go(func() error { return r.keepAsking(workCtx, left) })
	if err := work.Wait(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return err
	}
	r.Enter(history.PhaseQuiet)
	return nil
}

// probe lets a fresh client try every key, and give it back. What it is refused is inquired into.
func (r *run) probe(ctx context.Context, phase string, place int,
	inquire func(ctx context.Context, key string) error) error {
	if err := r.open(ctx, r.probes[place]); err != nil {
		return err
	}
	r.Enter(phase)
	for i, key := range r.Keys {
		got, err := r.ask(ctx, r.probes[place], key, r.FirstAsk(), nil)
		if err != nil {
			return err
		}
		if got != refused || inquire == nil {
			continue
		}
		if err := inquire(ctx, key); err != nil {
			return err
		}
		if i+1 < len(r.Keys) {
			if err := r.open(ctx, r.probes[place]); err != nil {
				return err
			}
		}
	}
	return nil
}

// inquireIdle closes the workload's clients one after the other, when the
// workload is over and a fresh client was refused a key. They are not replaced.
func (r *run) inquireIdle(ctx context.Context, key string) (err error) {
	if err := r.end(ctx, r.probes[0]); err != nil {
		return err
	}
	if r.probes[0], err = r.succeed(r.probes[0]); err != nil {
		return err
	}
	alive := map[int32]*workerProcess{}
	for _, w := range r.workers {
		alive[w.Number] = w
	}
	_, err = r.closeSuspects(ctx, key, r.vigil.suspects(key, slices.Sorted(maps.Keys(alive))), nil,
		func(ctx context.Context, client int32) error {
			return r.end(ctx, alive[client])
		})
	r.workers = slices.DeleteFunc(r.workers, func(w *workerProcess) bool { return clock.Closed(w.Gone()) })
	return err
}

func (r *run) endAll(ctx context.Context, all ...*workerProcess) error {
	var ending errgroup.Group
	for _, w := range all {
		ending.Go(func() error { return r.end(ctx, w) })
	}
	return ending.Wait()
}
