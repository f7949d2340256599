package runtimes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/scenarios"
)

// simulatedRuntime runs scenarios whose locks are adapters in Go.
type simulatedRuntime struct {
	runs.Simulated
	programs Programs
}

func newSimulated(of Locks, trace bool) *simulatedRuntime {
	s := &simulatedRuntime{}
	s.Simulated = runs.Simulated{Locks: of, Trace: trace,
		Program: func(ctx context.Context, sc *scenarios.Scenario) (*sim.Program, error) {
			return s.programs.Of(ctx, sc.Adapter.Go)
		}}
	return s
}

// Skip says why a plan can't be run in virtual time; "": it can.
func (s *simulatedRuntime) Skip(p scenarios.Plan) string {
	if !p.Scenario.External() || p.Scenario.Adapter.Go == "" {
		return p.Scenario.Name + ": the simulation runs locks that are Go programs: give --lock-go DIR, the folder of an adapter (docs/simulation.md)"
	}
	why := s.Simulated.Skip(p)
	if why != "" {
		why += ": --runtime " + Local
	}
	return why
}

// Close gives up what was compiled.
func (s *simulatedRuntime) Close() error { return s.programs.Close() }

// Programs are the compiled adapters of a process, by their folders.
type Programs struct {
	mu   sync.Mutex
	each map[string]*sim.Program
}

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
	program, err := sim.Load(context.WithoutCancel(ctx), wasm,
		sim.Options{Interpret: os.Getenv(runs.InterpretVar) == "1"})
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
