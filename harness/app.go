package harness

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockchaos/lockchaos/audit"
	"github.com/lockchaos/lockchaos/audit/forms"
	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/harness/clock"
	"github.com/lockchaos/lockchaos/harness/director"
	"github.com/lockchaos/lockchaos/harness/possible"
	"github.com/lockchaos/lockchaos/harness/record"
	"github.com/lockchaos/lockchaos/harness/wire"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/monotime"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// AppConfig is what a run needs whose clients are an application of the user's own (scenarios.App).
type AppConfig struct {
	Plan scenarios.Plan
	// Attached are the containers, by the names of AppPlaces.
	Attached []backends.Attached
	// Logs is the folder in which NAME.log grows with what a container prints.
	Logs string
	// History is the file to write; the application's audit log, as far as it
	// was understood, goes into AuditFile beside it.
	History  string
	Versions []history.Part
	Progress func(record.Progress)
	// Execute runs the commands of hooks; of no use where there are none.
	Execute Execute
	// Restarts: a client that ends is started again, by whoever runs it, in the
	// network that it had, and its log goes on. So its end is none of the run's.
	Restarts bool
	// Cluster runs the clients, if it is a cluster that does, and Changes tells
	// what becomes of them; nil: there is none, and nothing changes.
	Cluster nemesis.Cluster
	Changes <-chan Change
	// Elsewhere is who strikes a client or a node that is on another machine,
	// and its address; nil: it is here. A nil function: all are.
	Elsewhere func(name string) (nemesis.Far, netip.Addr)
	// Ahead tells of the clocks by which clients stamp their logs; nil: all are this machine's.
	Ahead Ahead
}

// AuditFile is the audit log of all clients, in the form that `lockchaos check`
// reads without being told how.
const AuditFile = "audit.jsonl"

// faultsFile holds the faults alone, as they were recorded.
const faultsFile = "faults.jsonl"

// appSlack is how long lines are waited for that tell of ops which were under
// way at the end, and what is waited on top of a TTL before.
const appSlack = time.Second

// ClockStep is how far the wall clock may have moved against the monotonic one
// during a run: more is no drift, but somebody who set it.
const ClockStep = 5 * time.Millisecond

// appRun is the state of one run.
type appRun struct {
	cfg      AppConfig
	app      *scenarios.App
	began    int64
	ids      wire.Numbers
	rec      *history.Recorder
	director *director.Director
	phase    atomic.Value // string
	offset   int64        // wall clock − monotonic clock, ns
	from     int64        // the run's beginning, wall-clock ns since 1970
	until    int64        // its end
	// clockError is by how much a stamp may be wrong.
	clockError time.Duration
	watching   atomic.Bool // grants are told to the director
	mu         sync.Mutex
	clients    []*appClient // guarded by mu while the run goes on: there may come more
}

// appClient is one container of the application.
type appClient struct {
	audit.ProcessLog       // guarded by mu while the run goes on
	number, member   int32 // member is the number of the first one whose place it has, or its own
	leaving          atomic.Bool
	host             *hosts.Host
	proc             *hosts.Process
	mu               sync.Mutex
	other            int // lines that are none of the audit log
	held             map[[2]string]int64
}

// RunApp carries the plan's faults out on an application of the user's own, reads what it logs, and
// writes the history. When it returns nil the history is complete. Faults are healed in any case.
func RunApp(ctx context.Context, cfg AppConfig) (err error) {
	a := &appRun{cfg: cfg, app: cfg.Plan.Scenario.App, began: monotime.Now(), offset: WallOffset()}
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

// WallOffset is what the wall clock shows more than the monotonic one: the
// tightest of some readings.
func WallOffset() (offset int64) {
	best := int64(-1)
	for range 16 {
		before := monotime.Now()
		wall := time.Now().UnixNano()
		after := monotime.Now()
		if width := after - before; best < 0 || width < best {
			best, offset = width, wall-(before+width/2)
		}
	}
	return offset
}

// wall is what the wall clock shows now, on the monotonic one.
func (a *appRun) wall() int64 { return monotime.Now() + a.offset }

// start finds the places and hands them to a director.
func (a *appRun) start() error {
	s := a.cfg.Plan.Scenario
	procs, far := map[int32]*hosts.Process{}, map[int32]nemesis.Place{}
	var nodes, clients []nemesis.Place
	var store nemesis.Place
	for i, p := range possible.AppPlaces(a.app) {
		at := slices.IndexFunc(a.cfg.Attached, func(n backends.Attached) bool { return n.Name == p.Name })
		if at < 0 {
			return fmt.Errorf("%s: it was not attached to", p.Name)
		}
		n := a.cfg.Attached[at]
		place := a.place(n)
		switch p.Role {
		case possible.RoleClient:
			c := &appClient{ProcessLog: audit.ProcessLog{Name: p.Name}, number: int32(i + 1), member: int32(i + 1),
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

// place is where somebody is, here or on another machine.
func (a *appRun) place(n backends.Attached) nemesis.Place {
	p := nemesis.Place{Name: n.Name, Host: n.Host}
	if n.Host == nil && a.cfg.Elsewhere != nil {
		p.Far, p.Addr = a.cfg.Elsewhere(n.Name)
	}
	return p
}

// watch ends the run when a container dies for good.
func (a *appRun) watch(ctx context.Context, cancel context.CancelCauseFunc) {
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
func (a *appRun) mind(ctx context.Context, cancel context.CancelCauseFunc, n backends.Attached) {
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

// over reports whether a client has ended, or is to end, so that another takes its place.
func (a *appRun) over(c *appClient) bool {
	return a.director.Dead(c.number) || c.leaving.Load()
}

// work lets the application work for the planned time, under faults, and then
// until what was under way has been logged.
func (a *appRun) work(ctx context.Context) error {
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
	listen := func(c *appClient) { source(func() error { return a.source(following, c, done, over) }) }
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
func (a *appRun) source(ctx context.Context, c *appClient, done, over <-chan struct{}) error {
	if a.app.Hooks.Given() {
		return a.drive(ctx, c, done)
	}
	return a.follow(ctx, c, over)
}

// note takes a line.
func (c *appClient) note(l audit.Line) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Lines = append(c.Lines, l)
}

// granted tells the director of a grant, and lets a fault strike that is aimed at it.
func (a *appRun) granted(ctx context.Context, c *appClient, l *audit.Line, over bool) (grant int64, err error) {
	grant = a.ids.NextOp()
	a.ids.Granted(c.number, l.Key)
	if err := a.director.Holds(ctx, c.number, l.Key, grant); err != nil {
		return grant, unlessKilled(err)
	}
	if over { // the log has its end already
		a.director.Releases(grant)
		return grant, nil
	}
	return grant, unlessKilled(a.director.Reached(ctx,
		nemesis.Step{Moment: nemesis.AfterGrant, Client: c.number, Grant: grant, Key: l.Key}))
}

// unlessKilled drops the error that a fault has ended a client: what that still
// logs is of interest all the same.
func unlessKilled(err error) error {
	if errors.Is(err, wire.ErrKilled) {
		return nil
	}
	return err
}

// write makes the history: the lines of all clients in order of time,
// translated as any audit log, and the faults between them.
func (a *appRun) write() error {
	logs, err := a.aligned()
	if err != nil {
		return err
	}
	path := filepath.Join(filepath.Dir(a.cfg.History), AuditFile)
	text, err := a.joined(logs)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	names, numbers := audit.Number(logs)
	source, err := audit.Read(bytes.NewReader(text), path, forms.JSON, a.options(names))
	if err != nil {
		return err
	}
	defer source.Close()
	faults, err := history.ReadFile(filepath.Join(filepath.Dir(a.cfg.History), faultsFile))
	if err != nil {
		return fmt.Errorf("read the record of the faults: %w", err)
	}
	h, err := audit.Weave(source, audit.Faults{Record: faults, Ahead: a.offset, Clients: numbers})
	if err != nil {
		return err
	}
	h.Header = a.header(h.Header, names)
	out, err := os.Create(a.cfg.History)
	if err != nil {
		return fmt.Errorf("create the history: %w", err)
	}
	return errors.Join(h.Encode(out), out.Close())
}

// joined is the log of all clients; it is an error if nobody has logged anything.
func (a *appRun) joined(logs []audit.ProcessLog) ([]byte, error) {
	text, err := audit.Join(logs)
	if err != nil || len(text) > 0 {
		return text, err
	}
	where, other := cmp.Or(a.app.Log.File, "the clients' output"), 0
	for _, c := range a.clients {
		other += c.other
	}
	return nil, fmt.Errorf("no line of an audit log was written during the run (%d other lines in %s): each must be a JSON object with time, end and event (docs/own-stack.md)", other, where)
}

func (a *appRun) options(names []string) audit.Options {
	o := audit.Options{Clients: names, Delayed: true, Tokens: a.app.Log.Tokens, ClockError: a.clockError,
		Validity: &audit.Validity{TTL: a.cfg.Plan.Scenario.TTL.Std()}}
	switch a.app.Lease {
	case "released":
		o.Validity = &audit.Validity{Released: true}
	case "unknown":
		o.Validity = &audit.Validity{}
	}
	return o
}

// header is that of the translated log, with what the plan says.
func (a *appRun) header(h history.Header, names []string) history.Header {
	s := a.cfg.Plan.Scenario
	h.Scenario, h.Seed, h.Lock, h.Service, h.Workload, h.Guard, h.Fault = s.Name, a.cfg.Plan.Seed, s.Lock, "own", "own",
		"none", s.FaultLabel()
	h.Clients, h.Faults, h.Needs, h.Duration = len(names), record.PlannedFaults(s.Faults), history.Needs(s.Needs),
		int64(s.Duration)
	h.Versions = append(slices.Clone(a.cfg.Versions), a.clocks()...)
	for i, name := range names {
		h.Versions = append(h.Versions, history.Part{Name: fmt.Sprintf("client %d", i+1), Version: name})
	}
	return h
}
