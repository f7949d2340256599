package runs

import (
	"context"
	"io"

	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// What a program that runs scenarios is started again as, inside a sandbox. ScenarioVerb is followed by
// a scenario's folder, which holds the plan: see Tool.Inside. As ProbeVerb it tries the faults of a
// network (netfault.WriteProbe).
const (
	ScenarioVerb = "scenario"
	ProbeVerb    = "probe"
)

// Runtime is where hosts live: a PrivateNetwork, or one of package runtimes.
type Runtime interface {
	// About is what the first line of every output says of it: "private network, Linux 6.18".
	About() string
	// Run runs the program there with ScenarioVerb and DIR, which holds the plan, and waits for its end.
	// The error of a program that did not end well has a method ExitCode() int, as *exec.ExitError has.
	Run(ctx context.Context, plan scenarios.Plan, dir string, stdout, stderr io.Writer) error
	// Skip says why a scenario can't be run there; "": it can.
	Skip(plan scenarios.Plan) string
	// Close gives up what the runtime holds, such as a compose project.
	Close() error
}

// PrivateNetwork is the private network of namespaces.
type PrivateNetwork struct {
	// Able says which needs of faults this machine does not meet. It is asked when a fault first needs something.
	Able func() func(nemesis.Need) string
	// Env is added to the environment of the program inside, as "NAME=value".
	Env []string
}

// About names the private network and the kernel.
func (PrivateNetwork) About() string { return "private network, " + hosts.Kernel() }

// Skip says why the machine cannot do the faults of a plan; "": it can.
func (n PrivateNetwork) Skip(p scenarios.Plan) string { return harness.Incapable(p, n.Able) }

// Close does nothing: namespaces end with their processes.
func (PrivateNetwork) Close() error { return nil }

// Run runs the plan in a sandbox of its own. A machine that refuses one is told by a *hosts.RefusedError.
func (n PrivateNetwork) Run(ctx context.Context, _ scenarios.Plan, dir string, stdout, stderr io.Writer) error {
	// A file is inner's own end of a pipe: nothing is copied, and it closes with inner.
	inner, err := hosts.Sandbox{Stdout: stdout, Stderr: stderr, Env: n.Env}.Start(ctx, ScenarioVerb, dir)
	if err != nil {
		return err
	}
	return inner.Wait()
}
