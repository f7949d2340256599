package app

import (
	"golang.org/x/sync/errgroup"

	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/internal/harness/director"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"github.com/lockchaos/lockchaos/nemesis"
)

// Run carries the plan's faults out on an application of the user's own, reads what it logs, and
// writes the history. When it returns nil the history is complete. Faults are healed in any case.
func Run(ctx context.Context, cfg Config) (err error) {
	a := &run{cfg: cfg, app: cfg.Plan.Scenario.App, began: monotime.Now(), offset: WallOffset()}
	a.phase.Store(record.PhaseStart)
	if err := possible.CheckApp(&cfg.Plan.Scenario); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer record.Repeat(ctx, func() { record.Report(&a.ids, cfg.Progress, a.phase.Load().(string), a.began) })()
	if err := a.start(); err != nil {
		return err
	}
	go a.watch(ctx, cancel)
	if err := errors.Join(a.work(ctx), a.rec.Close()); err != nil {
		return err
	}
	if moved := time.Duration(WallOffset() - a.offset).Abs(); moved > ClockStep {
		return fmt.Errorf("the machine's clock was set by %v during the run, and the application's log bears its stamps: run it again", moved)
	}
	return a.write()
}

// start finds the places and hands them to a director.
func (a *run) start() error {
	s := a.cfg.Plan.Scenario
	procs, far := map[int32]*hosts.Process{}, map[int32]nemesis.Place{}
	var nodes, clients []nemesis.Place
	var store nemesis.Place
	for i, p := range possible.AppPlaces(a.app) {
		at := slices.IndexFunc(a.cfg.Attached, func(n agent.Attached) bool { return n.Name == p.Name })
		if at < 0 {
			return fmt.Errorf("%s: it was not attached to", p.Name)
		}
		n := a.cfg.Attached[at]
		place := a.place(n)
		switch p.Role {
		case possible.RoleClient:
			c := &client{ProcessLog: audit.ProcessLog{Name: p.Name}, number: int32(i + 1), member: int32(i + 1),
				host: n.Host, proc: n.Process, held: map[[2]string]int64{}}
			a.clients = append(a.clients, c)
			procs[c.number] = n.Process
			far[c.number] = place
			clients = append(clients, place)
		case possible.RoleService:
			nodes = append(nodes, place)
		case possible.RoleStore:
			store = place
		}
	}
	out, err := os.Create(filepath.Join(filepath.Dir(a.cfg.History), faultsFile))
	if err != nil {
		return fmt.Errorf("create the record of the faults: %w", err)
	}
	h := history.Header{Format: history.FormatVersion, Scenario: s.Name, Seed: a.cfg.Plan.Seed,
		Started: time.Now().UTC(), Origin: monotime.Now() - 1, Lock: s.Lock}
	if a.rec, err = history.NewRecorder(out, h, nil, monotime.Now); err != nil {
		return err
	}
	plan := a.cfg.Plan
	plan.Scenario.Clients = len(a.clients)
	a.director, err = director.New(director.Setting{Plan: plan, Recorder: a.rec, IDs: &a.ids, Nodes: nodes,
		Net: nemesis.NewNet(nodes, clients, store), Procs: procs, Far: far,
		Whole: true, Cluster: a.cfg.Cluster})
	return err
}

// watch ends the run when a container dies for good.
func (a *run) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	for _, n := range a.cfg.Attached {
		go a.mind(ctx, cancel, n)
	}
	select {
	case <-a.rec.Failed():
		cancel(errors.New("the faults can't be recorded: nothing could be judged"))
	case <-ctx.Done():
	}
}

// mind ends the run when a container dies in whose place no other is expected.
func (a *run) mind(ctx context.Context, cancel context.CancelCauseFunc, n agent.Attached) {
	c := a.client(n.Name)
	if c != nil && a.cfg.Restarts && !a.app.Hooks.Given() && a.app.Log.File == "" {
		return
	}
	if n.Process == nil {
		if err := a.place(n).Far.Emptied(ctx, n.Name); err == nil && (c == nil || !a.over(c)) {
			cancel(fmt.Errorf("%s: all processes of its pod have ended", n.Name))
		}
		return
	}
	select {
	case <-n.Process.Done():
		if c == nil || !a.over(c) {
			cancel(n.Process.Err())
		}
	case <-ctx.Done():
	}
}

// work lets the application work for the planned time, under faults, and then
// until what was under way has been logged.
func (a *run) work(ctx context.Context) error {
	s := a.cfg.Plan.Scenario
	a.from = a.wall()
	a.watching.Store(true)
	a.phase.Store(history.PhaseRun)
	done, noMore, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	defer time.AfterFunc(s.Duration.Std(), func() { close(done) }).Stop()
	defer time.AfterFunc((s.Duration - s.Quiet).Std(), func() { close(noMore) }).Stop()
	var sources errgroup.Group
	following, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	source := func(work func() error) {
		sources.Go(func() error {
			err := work()
			if err != nil {
				stop(err) // nobody waits for the rest of a run that can't be judged
			}
			return err
		})
	}
	listen := func(c *client) { source(func() error { return a.source(following, c, done, over) }) }
	for _, c := range a.clients {
		listen(c)
	}
	source(func() error { return a.succeed(following, over, listen) })
	err := a.director.Run(following, noMore)
	if err == nil && !clock.Pause(following, done, s.Duration.Std()) {
		err = context.Cause(following)
	}
	a.watching.Store(false)
	a.phase.Store(history.PhaseQuiet)
	// Who was frozen last goes on now, and shows whether it takes itself for the holder.
	quiet := s.TTL.Std() + appSlack
	if a.app.Hooks.Given() {
		quiet = 0 // its round is finished in any case
	}
	if err == nil && !clock.Pause(following, nil, quiet) {
		err = context.Cause(following)
	}
	a.until = a.wall()
	if err == nil && !a.app.Hooks.Given() && !clock.Pause(following, nil, appSlack) {
		err = context.Cause(following)
	}
	close(over)
	if failed := sources.Wait(); failed != nil {
		return failed
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// source brings a client's lines: from its hooks, which it is asked by until
// done is closed, or from its log, until over is.
func (a *run) source(ctx context.Context, c *client, done, over <-chan struct{}) error {
	if a.app.Hooks.Given() {
		return a.drive(ctx, c, done)
	}
	return a.follow(ctx, c, over)
}
