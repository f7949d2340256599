package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/hosts/docker"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/scenarios"
)

// The runtimes.
const (
	runtimeAuto    = "auto"
	runtimeLocal   = "local"
	runtimeDocker  = "docker"
	runtimeCompose = "compose"
	// runtimeExternal: the services are there already, and lockchaos is given their addresses.
	runtimeExternal = "external"
)

// runtimeVar names the environment variable that is the default of --runtime.
const runtimeVar = "LOCKCHAOS_RUNTIME"

// runtimes lists those that --runtime takes.
func runtimes() []string {
	return []string{runtimeAuto, runtimeLocal, runtimeDocker, runtimeCompose, runtimeExternal}
}

func defaultRuntime() string {
	if r := os.Getenv(runtimeVar); r != "" {
		return r
	}
	return runtimeAuto
}

// runtime is where hosts live.
type runtime interface {
	// about is what the first line of every output says of it: "private network, Linux 6.18".
	about() string
	// run runs `lockchaos scenario DIR` there, for the plan that DIR holds, and waits for its end.
	run(ctx context.Context, plan scenarios.Plan, dir string, stdout, stderr io.Writer) error
	// skip says why a scenario can't be run there; "": it can.
	skip(plan scenarios.Plan) string
	close() error
}

// chooseRuntime returns the runtime that the flags ask for. say prints a line about what was found on the way.
func chooseRuntime(ctx context.Context, f runFlags, plans []scenarios.Plan, say func(string)) (runtime, error) {
	settings, err := imageSettings(f.images)
	if err != nil {
		return nil, exit.Misuse(err)
	}
	if f.runtime != runtimeCompose && (f.project != "" || len(f.nodes) > 0 && f.runtime != runtimeExternal) {
		return nil, exit.Misuse(fmt.Errorf("--project is for --runtime %s, --nodes is for that or --runtime %s", runtimeCompose, runtimeExternal))
	}
	if name := withApp(plans); name != "" && f.runtime != runtimeCompose {
		return nil, exit.Misuse(fmt.Errorf("%s is about an application in a compose project: give --runtime %s --project FOLDER", name, runtimeCompose))
	}
	if name := withAdapter(plans); name != "" && !f.here() {
		// The agent beside containers holds nothing but lockchaos: no interpreter, no library.
		if f.runtime != runtimeAuto {
			return nil, onlyHere(name, f.runtime)
		}
		return newLocal(ctx), nil
	}
	switch f.runtime {
	case runtimeLocal:
		return newLocal(ctx), nil
	case runtimeDocker:
		return newContainers(ctx, settings, plans, say)
	case runtimeCompose:
		return newComposed(ctx, f, plans)
	case runtimeExternal:
		return newGiven(ctx, f, plans, say)
	case runtimeAuto:
		return autoRuntime(ctx, settings, plans, say)
	}
	return nil, fmt.Errorf("unknown runtime %q", f.runtime) // the flags are checked before
}

// here tells whether clients are processes of this machine, which have its programs and files.
func (f runFlags) here() bool { return f.runtime == runtimeLocal || f.runtime == runtimeExternal }

// onlyHere is the error of an adapter in a runtime that has no place for it.
func onlyHere(of, runtime string) error {
	return exit.Misuse(fmt.Errorf("the lock of %s is a program of this machine, and runs on its private network: give --runtime %s instead of %s", of, runtimeLocal, runtime))
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

// autoRuntime takes docker if an engine answers and has every image that the plans need, else local.
func autoRuntime(ctx context.Context, settings map[string]string, plans []scenarios.Plan, say func(string)) (runtime, error) {
	engine, err := docker.Connect(ctx)
	var absent *docker.AbsentError
	if errors.As(err, &absent) {
		return newLocal(ctx), nil
	}
	if err != nil {
		return nil, err
	}
	for _, kind := range neededImages(plans) {
		if image, err := present(ctx, engine, settings, kind); image == "" || err != nil {
			return newLocal(ctx), err
		}
	}
	return newContainers(ctx, settings, plans, say)
}

// local is the private network of namespaces.
type local struct {
	// able says which needs of faults this machine does not meet. It is asked when a fault first needs something.
	able func() func(nemesis.Need) string
}

func newLocal(ctx context.Context) local {
	return local{sync.OnceValue(func() func(nemesis.Need) string { return nemesis.Able(ctx, probeVerb) })}
}

func (local) about() string                  { return "private network, " + kernel() }
func (l local) skip(p scenarios.Plan) string { return harness.Incapable(p, l.able) }
func (local) close() error                   { return nil }

func (local) run(ctx context.Context, _ scenarios.Plan, dir string, stdout, stderr io.Writer) error {
	// A file is inner's own end of a pipe: nothing is copied, and it closes with inner.
	inner, err := hosts.Sandbox{Stdout: stdout, Stderr: stderr}.Start(ctx, "scenario", dir)
	if err != nil {
		return err
	}
	return inner.Wait()
}

// neededImages lists what the plans' services need to be installed, each once, in the order of need.
func neededImages(plans []scenarios.Plan) (kinds []string) {
	for _, p := range plans {
		for _, n := range nodesFor(p) {
			if !slices.Contains(kinds, n.Program.Name) {
				kinds = append(kinds, n.Program.Name)
			}
		}
	}
	return kinds
}
