package runs

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// What a program that runs scenarios is started again as, inside a sandbox.
// ScenarioVerb is followed by a scenario's folder, which holds the plan: see
// Tool.Inside. As ProbeVerb it tries the faults of a network (netfault.WriteProbe).
const (
	ScenarioVerb = "scenario"
	ProbeVerb    = "probe"
)

// Runtime is where hosts live: a PrivateNetwork, or one of package runtimes.
type Runtime interface {
	// About is what the first line of every output says of it: "private network, Linux 6.18".
	About() string
	// Run runs the program there with ScenarioVerb and DIR, which holds the
	// plan, and waits for its end. The error of a program that did not end well
	// has a method ExitCode() int, as *exec.ExitError has.
	Run(ctx context.Context, plan scenarios.Plan, dir string, stdout, stderr io.Writer) error
	// Skip says why a scenario can't be run there; "": it can.
	Skip(plan scenarios.Plan) string
	// Traits say in what it differs from others.
	Traits() Traits
	// Close gives up what the runtime holds, such as a compose project.
	Close() error
}

// Traits are what a runtime may be like.
type Traits struct {
	// Most is how many scenarios can run there side by side; 0: as many as one likes.
	Most int
	// Virtual: its time is virtual, so that a busy machine changes nothing.
	Virtual bool
}

// PrivateNetwork is the private network of namespaces.
type PrivateNetwork struct {
	// Locks returns the lock of a scenario.
	Locks func(*scenarios.Scenario) (clients.Kind, error)
	// Able says which needs of faults this machine does not meet. It is asked
	// when a fault first needs something.
	Able func() func(nemesis.Need) string
	// Env is added to the environment of the program inside, as "NAME=value".
	Env []string
}

// About names the private network and the kernel.
func (PrivateNetwork) About() string { return "private network, " + hosts.Kernel() }

// Traits: it has none.
func (PrivateNetwork) Traits() Traits { return Traits{} }

// Skip says what the machine lacks for the services of a plan, or for its faults; "": nothing.
func (n PrivateNetwork) Skip(p scenarios.Plan) string {
	if lack, ok := errors.AsType[*backends.Lack](n.Startable(p)); ok {
		return lack.Error()
	}
	return possible.Incapable(p, n.Able)
}

// Startable returns nil if the machine can start the services of a plan.
func (n PrivateNetwork) Startable(p scenarios.Plan) error {
	lock, err := n.Locks(&p.Scenario)
	if err != nil {
		return err
	}
	return possible.Startable(p, lock.Service)
}

// Check returns the first error that keeps a plan from being run and is the user's,
// such as a variable that names no program. What the machine merely lacks is skipped.
func (n PrivateNetwork) Check(plans []scenarios.Plan) error {
	for _, p := range plans {
		err := n.Startable(p)
		if _, lacks := errors.AsType[*backends.Lack](err); err != nil && !lacks {
			return fmt.Errorf("%s: %w", p.Scenario.Name, err)
		}
	}
	return nil
}

// Close does nothing: namespaces end with their processes.
func (PrivateNetwork) Close() error { return nil }

// Run runs the plan in a sandbox of its own. A machine that refuses one is told
// by a *hosts.RefusedError.
func (n PrivateNetwork) Run(ctx context.Context, _ scenarios.Plan, dir string, stdout, stderr io.Writer) error {
	// A file is inner's own end of a pipe: nothing is copied, and it closes with inner.
	inner, err := hosts.Sandbox{Stdout: stdout, Stderr: stderr, Env: n.Env}.Start(ctx, ScenarioVerb, dir)
	if err != nil {
		return err
	}
	return inner.Wait()
}
