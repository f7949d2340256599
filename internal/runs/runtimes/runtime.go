package runtimes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/hosts/docker"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// The runtimes.
const (
	Auto    = "auto"
	Local   = "local"
	Docker  = "docker"
	Compose = "compose"
	// Kubernetes: nodes in pods of a cluster, or the pods of an application.
	Kubernetes = "kubernetes"
	// runtimeExternal: the services are there already, and lockchaos is given their addresses.
	External = "external"
	// Virtual: everything but the lock library is simulated.
	Virtual = "sim"
)

// EnvironmentVar names the environment variable that is the default of --runtime.
const EnvironmentVar = "LOCKCHAOS_RUNTIME"

// Names lists those that --runtime takes.
func Names() []string {
	return []string{Auto, Local, Docker, Compose, Kubernetes, External, Virtual}
}

func Default() string {
	if r := os.Getenv(EnvironmentVar); r != "" {
		return r
	}
	return Auto
}

// Where says which runtime is wanted, and what it is given.
type Where struct {
	// Runtime is one of runtimes().
	Runtime string
	// Images are the images for services' containers, each as "redis=IMAGE".
	Images []string
	// Project is the compose project, by its name or folder; "": that of the working directory.
	Project string
	// Nodes says which services of the project are which nodes ("redis-1=my-redis"),
	// or what the nodes' addresses are ("redis=127.0.0.1:6379").
	Nodes []string
	// Files are what TLS to the addresses needs, ConnectTo where names lead, each as
	// "NAME:PORT=ADDRESS:PORT".
	Files     endpoint.Files
	ConnectTo []string
	// FailoverCmd is a command line for a shell that has the service at the addresses fail over.
	FailoverCmd string
	// Context is what the configuration of kubectl calls the cluster, Namespace where
	// lockchaos makes pods there; "": the configuration's, and kubernetes.DefaultNamespace.
	Context, Namespace string
	// Trace: a simulated run writes TraceFile.
	Trace bool
}

// Locks returns the lock of a scenario.
type Locks func(*scenarios.Scenario) (clients.Kind, error)

// Runtime is where hosts live. Package runs takes it from its caller, so that a
// program which needs no containers is built without what speaks to engines.
type Runtime = runs.Runtime

// What a program is started again as, in each of them: see package runs.
const (
	ScenarioVerb = runs.ScenarioVerb
	ProbeVerb    = runs.ProbeVerb
)

// Choose returns the runtime that is asked for. of returns the lock of a
// scenario. say prints a line about what was found on the way.
func Choose(ctx context.Context, f Where, of Locks, plans []scenarios.Plan, say func(string)) (Runtime, error) {
	settings, err := ImageSettings(f.Images)
	if err != nil {
		return nil, exit.Misuse(err)
	}
	if f.Runtime == Auto {
		f.Runtime = plannedRuntime(plans)
	}
	if err := errors.Join(f.suits(plans), f.serves(of, plans)); err != nil {
		return nil, err
	}
	if f.Trace && f.Runtime != Virtual {
		return nil, exit.Misuse(fmt.Errorf("--trace tells what a simulation did, and the runtime is %s: give --runtime %s and --lock-go", f.Runtime, Virtual))
	}
	if f.Runtime == Local || f.Runtime == Auto && withAdapter(plans) != "" {
		return newLocal(ctx, of, plans)
	}
	switch f.Runtime {
	case Virtual:
		return newSimulated(of, f.Trace), nil
	case Docker:
		return newContainers(ctx, settings, of, plans, say)
	case Compose:
		return newComposeRuntime(ctx, f, of, plans)
	case Kubernetes:
		return newKubernetesRuntime(ctx, f, settings, of, plans, say)
	case External:
		return newGiven(ctx, f, of, plans, say)
	case Auto:
		return autoRuntime(ctx, settings, of, plans, say)
	}
	return nil, fmt.Errorf("unknown runtime %q", f.Runtime) // the flags are checked before
}

// suits refuses plans that can't be run there. The agent beside containers holds nothing but
// lockchaos: no interpreter, no library.
func (f Where) suits(plans []scenarios.Plan) error {
	if f.Runtime != Compose && (f.Project != "" || len(f.Nodes) > 0 && f.Runtime != External) {
		return exit.Misuse(fmt.Errorf("--project is for --runtime %s, --nodes is for that or --runtime %s", Compose,
			External))
	}
	if f.Runtime != External && (f.Files != endpoint.Files{} || len(f.ConnectTo) > 0) {
		return exit.Misuse(fmt.Errorf("--cacert, --cert, --key and --connect-to are for --runtime %s", External))
	}
	if f.Runtime != External && f.FailoverCmd != "" {
		return exit.Misuse(fmt.Errorf("--failover-cmd is for --runtime %s: other services are lockchaos's own", External))
	}
	if f.Runtime != Kubernetes && (f.Context != "" || f.Namespace != "") {
		return exit.Misuse(fmt.Errorf("--context and --namespace are for --runtime %s", Kubernetes))
	}
	if err := f.suitsApps(plans); err != nil {
		return err
	}
	if name := compiled(plans); name != "" && f.Runtime != Virtual && f.Runtime != Auto {
		return exit.Misuse(fmt.Errorf("%s is for the simulation, which compiles its lock (adapter.go): give --runtime %s, or --lock-go with a scenario of another lock", name, Virtual))
	}
	if name := withAdapter(plans); name != "" && !f.Here() && f.Runtime != Auto {
		return OnlyHere(name, f.Runtime)
	}
	return nil
}

// serves refuses faults that only a service of the user's own can have: one that he has fail over,
// or a cluster of other nodes than a recipe has.
func (f Where) serves(of Locks, plans []scenarios.Plan) error {
	if f.Runtime == External {
		return nil // what cannot be done there is left out, with the reason
	}
	for _, p := range plans {
		kind, err := of(&p.Scenario)
		if service, _ := backends.Lookup(kind.Service); err != nil || p.Scenario.Own() || !service.Clusters {
			continue
		}
		for _, one := range possible.Singles(p) {
			if err := possible.CheckFault(kind, one); err != nil {
				return exit.Misuse(fmt.Errorf("%s: %w", p.Scenario.Name, err))
			}
		}
	}
	return nil
}

// plannedRuntime is the runtime that plans are written for; Auto, if they are for several.
func plannedRuntime(plans []scenarios.Plan) string {
	switch {
	case compiled(plans) != "":
		return Virtual
	case slices.ContainsFunc(plans, func(p scenarios.Plan) bool { return p.Scenario.Own() && p.Scenario.App.InPods() }):
		return Kubernetes
	}
	return Auto
}

// Here reports whether clients are processes of this machine, which have its programs and files.
func (f Where) Here() bool {
	return f.Runtime == Local || f.Runtime == External || f.Runtime == Virtual
}

// OnlyHere is the error of an adapter in a runtime that has no place for it.
func OnlyHere(of, runtime string) error {
	return exit.Misuse(fmt.Errorf("the lock of %s is a program of this machine, and runs on its private network: give --runtime %s instead of %s", of, Local, runtime))
}

// compiled names a plan whose lock the simulation compiles; "" if there is none.
func compiled(plans []scenarios.Plan) string {
	for _, p := range plans {
		if p.Scenario.Adapter.Go != "" {
			return p.Scenario.Name
		}
	}
	return ""
}

// withAdapter names a plan whose lock is an adapter; "" if there is none.
func withAdapter(plans []scenarios.Plan) string {
	for _, p := range plans {
		if p.Scenario.External() {
			return p.Scenario.Name
		}
	}
	return ""
}

// autoRuntime takes docker if an engine answers and has every image that the
// plans need, else local.
func autoRuntime(ctx context.Context, settings map[string]string, of Locks, plans []scenarios.Plan,
	say func(string)) (Runtime, error) {
	engine, err := docker.Connect(ctx)
	var absent *docker.AbsentError
	if errors.As(err, &absent) {
		return newLocal(ctx, of, plans)
	}
	if err != nil {
		return nil, err
	}
	for _, kind := range of.neededImages(plans) {
		image, err := Present(ctx, engine, settings, kind)
		if err != nil {
			return nil, err
		}
		if image == "" {
			return newLocal(ctx, of, plans)
		}
	}
	return newContainers(ctx, settings, of, plans, say)
}

func newLocal(ctx context.Context, of Locks, plans []scenarios.Plan) (Runtime, error) {
	n := runs.PrivateNetwork{Locks: of, Able: sync.OnceValue(able(ctx))}
	if err := n.Check(plans); err != nil {
		return nil, exit.Misuse(err)
	}
	return n, nil
}

// able tries what faults need on this machine, when it is called.
func able(ctx context.Context) func() func(nemesis.Need) string {
	return func() func(nemesis.Need) string { return nemesis.UnmetNeeds(ctx, ProbeVerb) }
}

// neededImages lists what the plans' services need to be installed, each once,
// in the order of need.
func (of Locks) neededImages(plans []scenarios.Plan) (images []string) {
	for _, p := range plans {
		for _, n := range of.nodesFor(p) {
			if !slices.Contains(images, n.Program.Name) {
				images = append(images, n.Program.Name)
			}
		}
	}
	return images
}
