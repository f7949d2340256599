package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/harness/workload"
	"github.com/lockchaos/lockchaos/scenarios"
	"golang.org/x/sync/errgroup"
)

// phases goes through the run: the workload with its faults; the probe, with losers alive
// and idle (they are closed one after the other if a fresh client is not granted a key);
// a last acquire of each of them; the closing of every client; the final probe. The ledger is
// followed all along and completed at the end; so are the waits for a processor, and what nodes say
// of their leader.
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
	last := r.workers
	if !r.selfMoved() {
		if err := r.probe(ctx, history.PhaseProbe, 0, r.diagnoseIdle); err != nil {
			return err
		}
		if err := r.askEach(ctx); err != nil {
			return err
		}
		last = append(r.workers, r.probes[0])
	}
	r.Enter(history.PhaseClose)
	if err := r.endAll(ctx, last...); err != nil {
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

// selfMoved reports whether idle clients go on taking what the others want, since nobody asks them
// to: instances of a scheduler, and candidates for leadership. A fresh one can't be told from them.
func (r *run) selfMoved() bool {
	s := r.cfg.Plan.Scenario
	return s.External() && (s.Workload.Every != 0 || s.Adapter.Kind == scenarios.Leader)
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
	var applications, working sync.WaitGroup
	over := make(chan struct{}) // no application works any more
	working.Add(len(r.workers))
	for _, w := range r.workers {
		a := &workload.Actor{Client: w.Client, Plan: s.Workload, Keys: r.Keys,
			Rand:     r.cfg.Plan.Stream(fmt.Sprintf("client %d", w.Number)),
			Director: actorDirector{r.director, r}, Pass: clock.Pause, Done: done}
		applications.Add(1)
		work.Go(func() error {
			defer applications.Done()
			err := job.Run(workCtx, a)
			working.Done()
			if err == nil && s.Adapter.Kind == scenarios.Leader {
				err = a.StepDown(workCtx, over)
			}
			if err != nil {
				return err
			}
			return r.leave(workCtx, a)
		})
	}
	work.Go(func() error { return r.director.Run(workCtx, noMore) })
	left := make(chan struct{})
	go func() {
		working.Wait()
		close(over)
		applications.Wait()
		close(left)
	}()
	work.Go(func() error { return r.diagnoseStuckKeys(workCtx, left) })
	if err := work.Wait(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return err
	}
	r.Enter(history.PhaseQuiet)
	return nil
}

// probe lets a fresh client try every key, and give it back. It calls onRefusal for each key that
// it is refused.
func (r *run) probe(ctx context.Context, phase string, place int,
	onRefusal func(ctx context.Context, key string) error) error {
	if err := r.open(ctx, r.probes[place]); err != nil {
		return err
	}
	r.Enter(phase)
	for i, key := range r.Keys {
		got, err := r.ask(ctx, r.probes[place], key, r.FirstAsk(), nil)
		if err != nil {
			return err
		}
		if got != refused || onRefusal == nil {
			continue
		}
		if err := onRefusal(ctx, key); err != nil {
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

// askEach lets each client that is alive ask for a key and give it back, one after the other,
// until one is granted nothing for as long as the judge may demand. Such a client shows what there
// is to see, and takes its time. It asks twice at least: a lock may notice by the end of an acquire
// that its connection has gone.
func (r *run) askEach(ctx context.Context) error {
	if r.Claims().Permits <= 0 || r.cfg.Plan.Scenario.Workload.NeverRelease {
		return nil // it is no lock, or nobody gives back what the fresh client has
	}
	r.Enter(history.PhaseEach)
	for _, w := range r.workers {
		got, began := unanswered, time.Now()
		for round := 0; got != granted && (round < 2 || time.Since(began) < r.FirstAsk()); round++ {
			var err error
			if got, err = r.ask(ctx, w, r.Keys[0], r.Patience()+record.AskMargin, nil); err != nil {
				return err
			}
		}
		if got != granted {
			break
		}
	}
	return nil
}

// diagnoseIdle closes the workload's clients one after the other, when the
// workload is over and a fresh client was refused a key. They are not replaced.
func (r *run) diagnoseIdle(ctx context.Context, key string) (err error) {
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
	_, err = r.closeSuspects(ctx, key, r.stuckWatch.suspects(key, slices.Sorted(maps.Keys(alive))), nil,
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

// Run carries the plan out and writes its history. It must be called inside a
// sandbox (hosts.Stage). When it returns nil the history is complete; after an
// error it ends where the run did. Faults are healed in either case.
func Run(ctx context.Context, cfg Config) (err error) {
	r := newRun(cfg)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer record.Repeat(ctx, r.Report)()
	file, err := os.Create(cfg.History)
	if err != nil {
		return fmt.Errorf("create the history: %w", err)
	}
	defer func() { err = errors.Join(err, r.finish(err), file.Close()) }()
	if err := r.start(ctx, file); err != nil {
		return err
	}
	go r.watch(ctx, cancel)
	return r.phases(ctx, cancel)
}

// finish closes the history, as complete only if the run was, and takes everything down.
func (r *run) finish(failed error) error {
	var err error
	switch {
	case r.Recorder == nil:
	case failed == nil:
		err = r.Recorder.Close()
	default:
		err = r.Recorder.Stop()
	}
	err = errors.Join(err, r.taps.close())
	if r.network != nil {
		err = errors.Join(err, r.network.Close())
	}
	return err
}

// watch ends the run when a node dies that no fault killed.
func (r *run) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	select {
	case err := <-r.service.Died():
		cancel(err)
	case err := <-r.store.Died():
		cancel(fmt.Errorf("the store's engine: %w", err))
	case <-r.store.Process.Done():
		cancel(r.store.Process.Err())
	case <-r.Recorder.Failed():
		cancel(errors.New("the history can't be written: nothing that follows could be judged"))
	case <-ctx.Done():
	}
}

// blame prefers the death of the store, or of its engine, to the broken connection that it leaves.
func (r *run) blame(err error) error {
	t := time.NewTimer(wire.DeathNotice)
	defer t.Stop()
	select {
	case err := <-r.store.Died():
		return fmt.Errorf("the store's engine: %w", err)
	case <-r.store.Process.Done():
		return r.store.Process.Err()
	case <-t.C:
		return err
	}
}

// countRequests records how many requests the service has handled since it
// started. A node may have no figure just now, while a leader is elected: it is
// asked again until it has one, or the time for a call is over.
func (r *run) countRequests(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Plan.Scenario.Workload.OpTimeout.Std())
	defer cancel()
	n, err := r.service.Requests(ctx)
	for err != nil && clients.Wait(ctx, countPause) == nil {
		n, err = r.service.Requests(ctx)
	}
	if err != nil {
		return fmt.Errorf("ask service %s how many requests it has handled: %w", r.service.Name, err)
	}
	r.Recorder.Record(history.Event{Type: history.Count, Text: history.CountRequests, Value: n})
	return nil
}

// countPause is the time between two questions to a service that has no figure.
const countPause = 50 * time.Millisecond
