package harness

import (
	"context"
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"golang.org/x/sync/errgroup"
)

// probeSlack is what a fresh client gets on top of one and a half TTLs before a lock that nobody can hold counts as stuck.
const probeSlack = 3 * time.Second

// phases goes through the run: the workload with its faults; the probe, with losers alive and idle; the closing of every
// client; the final probe. The ledger is followed all along and completed at the end; so are the waits for a processor.
func (r *run) phases(ctx context.Context, cancel context.CancelCauseFunc) error {
	following, stopFollowing := context.WithCancel(ctx)
	defer stopFollowing()
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		if err := r.ledger.follow(following); err != nil {
			cancel(r.blame(err))
		}
	}()
	starving, err := r.watchWaits()
	if err != nil {
		return err
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if err := starving.follow(following); err != nil {
			cancel(err)
		}
	}()
	if err := r.workload(ctx); err != nil {
		return err
	}
	if err := r.probe(ctx, history.PhaseProbe, r.probes[0]); err != nil {
		return err
	}
	r.enter(history.PhaseClose)
	if err := r.endAll(ctx, append(r.workers, r.probes[0])...); err != nil {
		return err
	}
	if err := r.probe(ctx, history.PhaseFinal, r.probes[1]); err != nil {
		return err
	}
	if err := r.endAll(ctx, r.probes[1]); err != nil {
		return err
	}
	stopFollowing()
	<-followed
	<-watched
	return r.ledger.take(ctx)
}

// workload drives every client for the planned time, while the director injects the faults. When it returns nil, all faults
// are healed and every client has finished its round.
func (r *run) workload(ctx context.Context) error {
	r.enter(history.PhaseRun)
	s := r.cfg.Plan.Scenario
	job, err := r.newWorkload()
	if err != nil {
		return err
	}
	done := make(chan struct{})
	clock := time.AfterFunc(s.Duration.Std(), func() { close(done) })
	defer clock.Stop()
	noMore := make(chan struct{}) // faults
	quiet := time.AfterFunc((s.Duration - s.Quiet).Std(), func() { close(noMore) })
	defer quiet.Stop()
	work, workCtx := errgroup.WithContext(ctx)
	for _, w := range r.workers {
		a := &actor{workerProcess: w, plan: s.Workload, keys: r.keys, rng: r.cfg.Plan.Stream(fmt.Sprintf("client %d", w.number)),
			director: r.director, run: r, done: done}
		work.Go(func() error {
			if err := job.run(workCtx, a); err != nil {
				return err
			}
			return a.leave(workCtx)
		})
	}
	work.Go(func() error { return r.director.run(workCtx, noMore) })
	if err := work.Wait(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return err
	}
	r.enter(history.PhaseQuiet)
	return nil
}

// probe lets a fresh client try every key, and give it back.
func (r *run) probe(ctx context.Context, phase string, w *workerProcess) error {
	s := r.cfg.Plan.Scenario
	if err := r.open(ctx, w); err != nil {
		return err
	}
	r.enter(phase)
	for _, key := range r.keys {
		id, grant, err := w.do(ctx, op{kind: history.Acquire, key: key, timeout: s.TTL.Std()*3/2 + probeSlack})
		if err != nil {
			return err
		}
		if grant.Result != resultOK {
			continue
		}
		if _, _, err := w.do(ctx, op{kind: history.Release, key: key, grant: id, timeout: s.Workload.OpTimeout.Std()}); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) endAll(ctx context.Context, all ...*workerProcess) error {
	var ending errgroup.Group
	for _, w := range all {
		ending.Go(func() error { return r.end(ctx, w) })
	}
	return ending.Wait()
}
