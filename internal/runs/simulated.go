package runs

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harness"
	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/internal/harness/simulated"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Simulated runs scenarios in virtual time, in this process (package hosts/sim).
type Simulated struct {
	// Locks returns the lock of a scenario, and Program what its clients are instances of.
	Locks   func(*scenarios.Scenario) (clients.Kind, error)
	Program func(context.Context, *scenarios.Scenario) (*sim.Program, error)
	// Start is simulated.Config's.
	Start sim.Start
	// Trace: each run has TraceFile written beside its history.
	Trace bool
}

// TraceFile is the exact interleaving of a simulated run, one line for each host
// call of an adapter, each command of a server and each segment on the wire.
const TraceFile = "trace.log"

// InterpretVar names the environment variable that has simulated programs interpreted, if it is
// "1": they start at once, and run about eight times slower.
const InterpretVar = "LOCKCHAOS_SIM_INTERPRET"

// About says that nothing is real but the library.
func (*Simulated) About() string {
	return fmt.Sprintf("simulated: virtual time, client libraries against miniredis %s, or a model of etcd %s",
		backends.MiniredisVersion(), sim.EtcdVersion)
}

// Skip says why a plan can't be run in virtual time; "": it can.
func (s *Simulated) Skip(p scenarios.Plan) string {
	kind, err := s.Locks(&p.Scenario)
	if err != nil {
		return err.Error()
	}
	why := simulated.WhyNot(p.Scenario, kind.Service)
	if why != "" {
		why = p.Scenario.Name + ": " + why
	}
	return why
}

// Traits: its time is virtual.
func (*Simulated) Traits() Traits { return Traits{Virtual: true} }

// Close does nothing: programs are whose they were.
func (*Simulated) Close() error { return nil }

// Run runs the plan in a folder, up to its history.
func (s *Simulated) Run(ctx context.Context, plan scenarios.Plan, dir string, stdout, _ io.Writer) (err error) {
	kind, err := s.Locks(&plan.Scenario)
	if err != nil {
		return err
	}
	program, err := s.Program(ctx, &plan.Scenario)
	if err != nil {
		return err
	}
	if plan.Simulation == nil {
		plan.Simulation = &scenarios.Simulation{Program: program.Hash, Simulator: harness.SimulatorHash()}
		if err := plan.Save(filepath.Join(dir, PlanFile)); err != nil {
			return err
		}
	}
	file, err := os.Create(filepath.Join(dir, HistoryFile))
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
	return harness.Simulate(ctx, simulated.Config{Plan: plan, Lock: kind, Program: program, Start: s.Start,
		History: file, Log: log, Trace: trace,
		Progress: func(p record.Progress) {
			if now := time.Now(); now.Sub(last) > progressEvery {
				last = now
				// if nobody listens, nobody is there to be told
				_ = lines.Encode(map[string]any{"progress": p})
			}
		}})
}

// progressEvery is how often a simulated run tells how far it is.
const progressEvery = 200 * time.Millisecond
