package simulated

import (
	"errors"
	"fmt"
	"io"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/internal/store"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Config is a run in virtual time: the clients' adapters are instances of one program, and all
// else is what it is in a real run, as far as it exists there.
type Config struct {
	Plan scenarios.Plan
	// Lock is the adapter's kind (external.Kind).
	Lock    clients.Kind
	Program *sim.Program
	// Start says with which arguments, environment and descriptors instances
	// are started; the rest of it is the simulation's.
	Start sim.Start
	// History is written to.
	History io.Writer
	// Log takes what adapters print on standard error; nil: nobody wants to know.
	Log      io.Writer
	Versions []history.Part
	Limits   sim.Limits
	// Trace, if not nil, gets a line for each host call of an adapter, each command that a server
	// carries out, and whatever becomes of a segment on the wire, at the times of the history.
	Trace    io.Writer
	Progress func(record.Progress)
	// Places, if not nil, is told of every place while the workload runs, with its time from the
	// workload's start: a fault of the plan with that time (at) strikes right before it.
	Places func(Place)
	// Simulator is the hash of what runs simulations (harness.SimulatorHash).
	Simulator string
}

// ErrOtherSimulation is in the error of a plan that was simulated with something else.
var ErrOtherSimulation = errors.New("the plan would not run as it did")

// checkSameSimulator refuses a plan that was simulated with another program, or by another
// simulator.
func (c Config) checkSameSimulator() error {
	was := c.Plan.Simulation
	switch {
	case was == nil:
		return nil
	case was.Program != c.Program.Hash:
		return fmt.Errorf("%w: the adapter in %s is another program now (SHA-256 %.12s, it was %.12s): its code, its modules or Go have changed", ErrOtherSimulation,
			c.Plan.Scenario.Adapter.Go, c.Program.Hash, was.Program)
	case was.Simulator != c.Simulator:
		return fmt.Errorf("%w: this lockchaos has another simulator (SHA-256 %.12s, it was %.12s)", ErrOtherSimulation,
			c.Simulator, was.Simulator)
	}
	return nil
}

// simulation is the state of a run in virtual time.
type simulation struct {
	*record.Record
	cfg      Config
	w        *sim.World
	nodes    []*sim.Node
	standIn  standIn
	store    *sim.Host
	ledgers  *store.Memory
	hosts    map[string]*sim.Host
	clients  []*simClient // the workload's, by number
	fresh    []*simClient // probes
	director actorDirector
	done     chan struct{} // the workload's time is over
	noMore   chan struct{} // no more faults
	waiting  []*sim.Task   // tasks that look at done and noMore
	ended    bool
}

// streams are the plan's random streams without its name: a scenario that is renamed runs the same.
func streams(p scenarios.Plan) scenarios.Plan {
	p.Scenario.Name = ""
	return p
}

func (s *simulation) addHost(name string) *sim.Host {
	h := s.w.AddHost(name)
	s.hosts[name] = h
	return h
}

// StoreHost is what the simulated host of the protected store is called.
const StoreHost = "store"
