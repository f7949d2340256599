package runtimes

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/hosts/sim"
	"github.com/lockchaos/lockchaos/redact"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Simulated runs scenarios in virtual time, in this process (package hosts/sim).
type Simulated struct {
	Locks
	// Trace: each run has TraceFile written beside its history.
	Trace    bool
	programs Programs
}

// TraceFile is the exact interleaving of a simulated run, one line for each host call of an adapter,
// each command of a server and each segment on the wire.
const TraceFile = "trace.log"

// Programs are the compiled adapters of a process, by their folders.
type Programs struct {
	mu   sync.Mutex
	each map[string]*sim.Program
}

// InterpretVar names the environment variable that has simulated programs interpreted, if it is
// "1": they start at once, and run about eight times slower.
const InterpretVar = "LOCKCHAOS_SIM_INTERPRET"

// Of compiles the adapter in a folder, once.
func (p *Programs) Of(ctx context.Context, dir string) (*sim.Program, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if program := p.each[dir]; program != nil {
		return program, nil
	}
	wasm, err := sim.Build(ctx, dir)
	if err != nil {
		return nil, err
	}
	program, err := sim.Load(context.WithoutCancel(ctx), wasm, sim.Options{Interpret: os.Getenv(InterpretVar) == "1"})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if p.each == nil {
		p.each = map[string]*sim.Program{}
	}
	p.each[dir] = program
	return program, nil
}

// Close gives up what was compiled.
func (p *Programs) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, program := range p.each {
		errs = append(errs, program.Close(context.Background()))
	}
	p.each = nil
	return errors.Join(errs...)
}

// About says that nothing is real but the library.
func (*Simulated) About() string {
	return "simulated: virtual time, client libraries against miniredis " + backends.MiniredisVersion()
}

// Skip says why a plan can't be run in virtual time; "": it can.
func (*Simulated) Skip(p scenarios.Plan) string { return harness.Unsimulated(p) }

// Close gives up what was compiled.
func (s *Simulated) Close() error { return s.programs.Close() }

// Run runs the plan in a folder, up to its history.
func (s *Simulated) Run(ctx context.Context, plan scenarios.Plan, dir string, stdout, _ io.Writer) (err error) {
	kind, err := s.Locks(&plan.Scenario)
	if err != nil {
		return err
	}
	program, err := s.programs.Of(ctx, plan.Scenario.Adapter.Go)
	if err != nil {
		return err
	}
	if plan.Simulation == nil {
		plan.Simulation = &scenarios.Simulation{Program: program.Hash, Simulator: harness.SimulatorHash()}
		if err := plan.Save(filepath.Join(dir, runs.PlanFile)); err != nil {
			return err
		}
	}
	file, err := os.Create(filepath.Join(dir, runs.HistoryFile))
	if err != nil {
		return fmt.Errorf("create the history: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	log, err := os.Create(filepath.Join(dir, reports.LogFolder, "adapters.log"))
	if err != nil {
		return fmt.Errorf("create the log of the adapters: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	var trace io.Writer
	if s.Trace {
		f, err := os.Create(filepath.Join(dir, TraceFile))
		if err != nil {
			return fmt.Errorf("create the trace: %w", err)
		}
		buffer := bufio.NewWriterSize(f, 1<<16)
		clean := redact.NewWriter(buffer)
		trace = clean
		defer func() { err = errors.Join(err, clean.Flush(), buffer.Flush(), f.Close()) }()
	}
	lines, last := json.NewEncoder(stdout), time.Time{}
	return harness.Simulate(ctx, harness.Simulation{Plan: plan, Lock: kind, Program: program, History: file, Log: log, Trace: trace,
		Progress: func(p harness.Progress) {
			if now := time.Now(); now.Sub(last) > progressEvery {
				last = now
				_ = lines.Encode(map[string]any{"progress": p}) // if nobody listens, nobody is there to be told
			}
		}})
}

// progressEvery is how often a simulated run tells how far it is.
const progressEvery = 200 * time.Millisecond
