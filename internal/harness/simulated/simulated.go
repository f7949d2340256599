// Package simulated runs one plan in virtual time: the adapters of a lock are instances of one
// program, and networks, clocks and services are simulated (hosts/sim). Director, worker and
// application are those of real runs.
package simulated

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/internal/harness/director"
	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/internal/harness/workload"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/internal/store"
	"github.com/lockchaos/lockchaos/nemesis"
)

// Run carries a plan out in virtual time. The same plan and program give the same history,
// byte for byte.
func Run(ctx context.Context, cfg Config) (err error) {
	if why := WhyNot(cfg.Plan.Scenario, cfg.Lock.Service); why != "" {
		return fmt.Errorf("%s: %s", cfg.Plan.Scenario.Name, why)
	}
	if err := cfg.checkSameSimulator(); err != nil {
		return err
	}
	s, err := newSimulation(cfg)
	if err != nil {
		return err
	}
	defer s.w.Close()
	over, failed := false, error(nil)
	s.w.Go(func(t *sim.Task) {
		failed = s.live(ctx, t)
		over = true
	})
	steps := 0
	err = s.w.Run(func() bool {
		if steps++; steps%4096 == 0 {
			if ctx.Err() != nil {
				s.w.Fail(context.Cause(ctx))
			}
			s.Report()
		}
		return over
	})
	if err == nil {
		err = failed
	}
	if s.Recorder == nil {
		return err
	}
	if err != nil {
		return errors.Join(err, s.Recorder.Stop())
	}
	return s.Recorder.Close()
}

func newSimulation(cfg Config) (*simulation, error) {
	sc := cfg.Plan.Scenario
	s := &simulation{cfg: cfg, Record: record.New(cfg.Plan, cfg.Lock, "", cfg.Progress),
		w: sim.New(streams(cfg.Plan).StreamSeed("simulation"), cfg.Limits), hosts: map[string]*sim.Host{},
		done: make(chan struct{}), noMore: make(chan struct{})}
	if err := s.steady(); err != nil {
		return nil, err
	}
	err := s.serve()
	if err != nil {
		return nil, err
	}
	s.store = s.addHost(StoreHost)
	s.ledgers, err = store.NewMemory(store.Fencing{Writes: sc.Store.Fenced(), Reads: sc.Store.ReadsRaise(),
		AcceptsEqual: sc.Store.AcceptsEqual()}, s.w.Now)
	for i := range sc.Clients + record.ProbeClients {
		s.addHost(fmt.Sprintf("client-%d", i+1))
	}
	return s, err
}

// live is the whole run, on the main task.
func (s *simulation) live(ctx context.Context, t *sim.Task) error {
	s.startClients(t)
	for _, c := range s.clients {
		if err := s.open(ctx, t, c); err != nil {
			return err
		}
	}
	if err := s.beginHistory(); err != nil {
		return err
	}
	s.followLedger(ctx)
	if err := s.workload(ctx, t); err != nil {
		return err
	}
	free, err := s.probe(ctx, t, s.fresh[0], history.PhaseProbe)
	if err != nil {
		return err
	}
	if free {
		if err := s.askEach(ctx, t); err != nil {
			return err
		}
	}
	s.Enter(history.PhaseClose)
	for _, c := range append(slices.Clone(s.clients), s.fresh[0]) {
		if c.dead { // it was killed when its application was over
			s.exitOf(c)
			continue
		}
		if err := s.end(ctx, t, c); err != nil {
			return err
		}
	}
	if _, err := s.probe(ctx, t, s.fresh[1], history.PhaseFinal); err != nil {
		return err
	}
	if err := s.end(ctx, t, s.fresh[1]); err != nil {
		return err
	}
	s.ended = true
	return s.Ledger.Take(ctx)
}

// starting is how long programs have to start until somebody speaks with them.
const starting = time.Millisecond

// startClients starts the programs of all clients, and of those that probe at the end. So they
// start the same way in each run of the scenario.
func (s *simulation) startClients(t *sim.Task) {
	for i := range s.cfg.Plan.Scenario.Clients {
		s.clients = append(s.clients, s.spawn(int32(i+1), 0))
	}
	for i := range record.ProbeClients {
		s.fresh = append(s.fresh, s.spawn(int32(len(s.clients)+i+1), 0))
	}
	t.Sleep(starting)
}

// beginHistory writes the header. Its times are virtual.
func (s *simulation) beginHistory() (err error) {
	h := s.Planned()
	h.Started, h.Origin, h.Nodes = sim.Epoch.Add(time.Duration(s.w.Now())), s.w.Now()-1, len(s.nodes)
	h.Store.Engine = "memory"
	h.Simulation = &history.Simulation{Program: s.cfg.Program.Hash, Simulator: s.cfg.Simulator}
	h.Versions = append(slices.Clone(s.cfg.Versions), s.standIn.part())
	name := s.cfg.Plan.Scenario.Lock
	if s.Says != nil {
		name = s.Says.Name
		h.Versions = append(h.Versions, history.Part{Name: s.cfg.Plan.Scenario.Lock, Version: name})
	}
	h.StandIns = []string{s.standIn.said(name)}
	if s.Recorder, err = history.NewRecorder(s.cfg.History, h, s.Keys, s.w.Now); err != nil {
		return err
	}
	for _, c := range s.clients {
		c.Recorder, c.Claims = s.Recorder, s.Claims()
	}
	s.Ledger = record.NewLedger(s.ledgers, s.Recorder, s.KeyIDs)
	if trace := s.cfg.Trace; trace != nil {
		s.w.Trace(func(at int64, who, what string) {
			fmt.Fprintf(trace, "%13.6f ms  %-10s %s\n", float64(at-h.Origin)/1e6, who, what)
		})
	}
	return s.newDirector()
}

// newDirector makes the director: that of real runs, in virtual time.
func (s *simulation) newDirector() error {
	clients, nodes := map[int32]nemesis.Place{}, []nemesis.Place(nil)
	for _, c := range s.clients {
		clients[c.Number] = nemesis.Place{Name: c.machine.Name}
	}
	for _, n := range s.nodes {
		nodes = append(nodes, nemesis.Place{Name: n.Host().Name})
	}
	d, err := director.New(director.Setting{Plan: streams(s.cfg.Plan), Time: virtualTime{s}, Recorder: s.Recorder,
		IDs: &s.IDs, Nodes: nodes, Far: clients, OnWire: s.cfg.Lock.OnWire, Leader: s.leading, Inject: s.inject,
		Freed: s.freed, RecordsLate: true, ClocksOfStopped: true})
	s.director = actorDirector{d, s}
	return err
}

// freed wakes all clients: one of them may wait until a fault lets it go.
func (s *simulation) freed() {
	for _, c := range s.clients {
		c.task.Wake()
	}
}

// followLedger takes the ledger over again and again, as a real run does.
func (s *simulation) followLedger(ctx context.Context) {
	s.w.After(record.LedgerEvery, func() {
		if s.ended {
			return
		}
		if err := s.Ledger.Take(ctx); err != nil {
			s.w.Fail(err)
		}
		s.followLedger(ctx)
	})
}

// workload drives the clients for the planned time, or longer while too little has been shown.
func (s *simulation) workload(ctx context.Context, t *sim.Task) error {
	s.Enter(history.PhaseRun)
	job, err := workload.New(workload.Setting{Scenario: s.cfg.Plan.Scenario})
	if err != nil {
		return err
	}
	var left int
	var failed error
	for _, c := range s.clients {
		left++
		s.start(func(own *sim.Task) {
			c.task = own
			a := &workload.Actor{Client: c.Client, Plan: s.cfg.Plan.Scenario.Workload, Keys: s.Keys,
				Rand: streams(s.cfg.Plan).Stream(fmt.Sprintf("client %d", c.Number)), Director: s.director,
				Pass: passing(own), Done: s.done}
			if err := errors.Join(job.Run(ctx, a), a.Survive(ctx, nil)); err != nil && failed == nil {
				failed = err
			}
			left--
			t.Wake()
		})
	}
	left += s.director.Begin(ctx, s.noMore, func(err error) {
		if err != nil {
			s.w.Fail(err)
		}
		left--
		t.Wake()
	})
	defer s.tellPlaces()()
	s.reorder()
	s.spend(t)
	t.Await(sim.Forever, func() bool { return left == 0 || failed != nil })
	s.Enter(history.PhaseQuiet)
	return failed
}

// start starts a task that is woken when done or noMore is closed.
func (s *simulation) start(fn func(*sim.Task)) { s.waiting = append(s.waiting, s.w.Go(fn)) }

func (s *simulation) close(c chan struct{}) {
	close(c)
	for _, t := range s.waiting {
		t.Wake()
	}
}

// spend lets the workload's time pass.
func (s *simulation) spend(t *sim.Task) {
	sc := s.cfg.Plan.Scenario
	planned, quiet := sc.Duration.Std(), sc.Quiet.Std()
	for _, part := range []struct {
		length time.Duration
		shown  func() int64
		needed int
		over   chan struct{}
	}{{planned - quiet, s.IDs.Bites, sc.Needs.Bites, s.noMore}, {quiet, s.IDs.Grants, sc.Needs.Grants, s.done}} {
		t.Sleep(part.length)
		for more := planned; more > 0 && part.shown() < int64(part.needed); more -= record.ProlongEvery {
			t.Sleep(record.ProlongEvery)
		}
		s.close(part.over)
	}
}

// passing lets virtual time pass.
func passing(t *sim.Task) func(context.Context, <-chan struct{}, time.Duration) bool {
	return func(ctx context.Context, early <-chan struct{}, d time.Duration) bool {
		if d > 0 {
			t.Await(d, func() bool { return clock.Closed(early) })
		}
		return ctx.Err() == nil
	}
}
