package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/harness/director"
	"github.com/lockchaos/lockchaos/harness/record"
	"github.com/lockchaos/lockchaos/harness/wire"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/scenarios"
	"github.com/lockchaos/lockchaos/store"
)

// Config is what a run needs.
type Config struct {
	Plan scenarios.Plan
	// Lock is the catalogue's entry for the plan's lock.
	Lock clients.Kind
	// History is the file to write; Logs the folder for the logs of nodes and workers.
	History, Logs string
	// Worker is the command that runs this program as a worker (worker.Run); nil:
	// this program with the argument "worker". Its first word is the program.
	Worker []string
	// Network is where to add hosts; nil: the run makes a network of its own.
	// The run closes either.
	Network *hosts.Network
	// Attached are the nodes that run already on that network: those of the
	// lock's service and of the store's engine, then none is launched.
	Attached []backends.Attached
	// Keys begins the name of each lock, and of what the store's engine keeps,
	// where the servers have seen other runs.
	Keys string
	// Versions names the parts that the caller knows (lockchaos, kernel); the
	// run adds what it starts.
	Versions []history.Part
	// Progress, if set, is called now and then, and at every change of phase.
	Progress func(record.Progress)
}

// startLimit bounds the start of services and workers.
const startLimit = 60 * time.Second

// run is the state of one run.
type run struct {
	*record.Record
	cfg       Config
	network   *hosts.Network
	service   *backends.Service
	store     *backends.Store
	workers   []*workerProcess // the workload's clients
	probes    []*workerProcess // fresh clients: one for the probe, one for the final probe
	director  *director.Director
	vigil     *vigil
	recording atomic.Bool // rec and director are there: set once, before the first op
	taps      taps
	sessions  sessions
	shared    string // a folder that all clients share, for locks on files
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

func newRun(cfg Config) *run {
	r := &run{cfg: cfg, Record: record.New(cfg.Plan, cfg.Lock, cfg.Keys, cfg.Progress)}
	ttl := cfg.Plan.Scenario.TTL.Std()
	r.vigil = newVigil(r.Patience()+vigilMargin, checker.Lifetime(ttl, 0), r.Keys)
	return r
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

// dialStore connects the harness itself to the store, for its ledger.
func (r *run) dialStore(ctx context.Context) error {
	c, err := store.Dial(ctx, r.store.Addr)
	if err != nil {
		return err
	}
	r.Ledger = record.NewLedger(c, r.Recorder, r.KeyIDs)
	return nil
}
