package runtimes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/docker"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/internal/strictyaml"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// MappingFile says which services of a compose project are which nodes; it lies
// in the project's folder.
const MappingFile = "lockchaos.compose.yaml"

// projectVar is compose's own variable for the name of a project.
const projectVar = "COMPOSE_PROJECT_NAME"

// composeRuntime is the compose runtime: the nodes are containers of a project that
// runs, and goes on running.
type composeRuntime struct {
	Locks
	engine  *docker.Engine
	project *docker.Project
	lock    net.Listener
}

func newComposeRuntime(ctx context.Context, f Where, of Locks, plans []scenarios.Plan) (*composeRuntime, error) {
	where := f.Project
	if where == "" {
		where = os.Getenv(projectVar)
	}
	folder := where
	if where == "" {
		var err error
		if folder, err = os.Getwd(); err != nil {
			return nil, fmt.Errorf("find the folder of the compose project: %w", err)
		}
		where = folder
	}
	services, err := composeServices(folder, f.Nodes)
	if err != nil {
		return nil, exit.Misuse(err)
	}
	addAppServices(services, plans)
	engine, err := docker.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &composeRuntime{Locks: of, engine: engine}
	if c.project, err = engine.FindProject(ctx, where, services); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(plans, func(p scenarios.Plan) bool { return c.Skip(p) == "" }) {
		return nil, fmt.Errorf("no scenario can be run on it: %s", c.Skip(plans[0]))
	}
	c.lock, err = lockProject(ctx, c.project.Name)
	return c, err
}

// lockProject keeps a second run from the same project: their faults would
// disturb each other.
func lockProject(ctx context.Context, name string) (net.Listener, error) {
	l, err := docker.Claim(ctx, "compose-"+name, 0)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, fmt.Errorf("compose project %s is being used by another run of lockchaos: wait for its end", name)
	}
	if err != nil {
		return nil, fmt.Errorf("lock compose project %s: %w", name, err)
	}
	return l, nil
}

// About names the project, the engine and the images.
func (c *composeRuntime) About() string {
	parts := []string{"compose: project " + c.project.Name, "engine " + c.engine.Version}
	for _, f := range c.project.Facts {
		image, _, _ := strings.Cut(f.Version, " ")
		if !slices.Contains(parts, image) {
			parts = append(parts, image)
		}
	}
	return strings.Join(append(parts, hosts.Kernel()), ", ")
}

// Traits: the services of the project are there once.
func (c *composeRuntime) Traits() runs.Traits { return runs.Traits{Most: 1} }

// Close lets other runs have the project.
func (c *composeRuntime) Close() error { return c.lock.Close() }

// Skip: what the project lacks can't be tested on it.
func (c *composeRuntime) Skip(plan scenarios.Plan) string {
	if plan.Scenario.Own() {
		return c.skipApp(plan)
	}
	var names []string
	for _, n := range c.nodes(plan) {
		names = append(names, n.Member)
	}
	if len(names) == 0 {
		return "the lock has no service of its own, and so no place in a compose project"
	}
	if missing := c.project.Lacks(names); len(missing) > 0 {
		return fmt.Sprintf("project %s runs no container for %s (--nodes %s=SERVICE says which is)", c.project.Name,
			strings.Join(missing, ", "), missing[0])
	}
	return unbearable(plan)
}

func (c *composeRuntime) nodes(plan scenarios.Plan) (nodes []docker.Node) {
	if plan.Scenario.Own() {
		return appNodes(plan.Scenario.App)
	}
	for _, k := range c.servicesOf(plan) {
		for _, n := range k.Nodes {
			nodes = append(nodes, docker.Node{Name: n.Name, Member: ComposeName(k, n)})
		}
	}
	return nodes
}

// Run runs the plan beside the containers of the project.
func (c *composeRuntime) Run(ctx context.Context, plan scenarios.Plan, dir string, stdout, stderr io.Writer) error {
	return c.engine.Run(ctx, docker.Spec{Project: c.project, Nodes: c.nodes(plan), Args: []string{ScenarioVerb, dir},
		Dir:  dir,
		Logs: filepath.Join(dir, reports.LogFolder), Keys: ownKeys(), Facts: c.project.Facts, Stdout: stdout,
		Stderr: stderr})
}

// ComposeName is what a node is called in a project: as it is, unless another
// service has a different node of that name.
func ComposeName(k backends.Kind, n backends.NodeSpec) string {
	for _, other := range backends.Kinds() {
		if other.Name == k.Name {
			break // those that come later give way
		}
		for _, same := range other.Nodes {
			if same.Name == n.Name && same != n {
				return k.Name + "-" + n.Name
			}
		}
	}
	return n.Name
}

// composeServices says which compose service each node is: the one of its own
// name, or what the mapping file and the flags say, which win.
func composeServices(folder string, flags []string) (map[string]string, error) {
	services := map[string]string{}
	for _, k := range backends.Kinds() {
		for _, n := range append(slices.Clone(k.Nodes), k.WithPrefix(backends.StorePrefix).Nodes...) {
			services[ComposeName(k, n)] = ComposeName(k, n)
		}
	}
	own, err := LoadMapping(filepath.Join(folder, MappingFile))
	if err != nil {
		return nil, err
	}
	for _, f := range flags {
		node, service, ok := strings.Cut(f, "=")
		if !ok || service == "" {
			return nil, fmt.Errorf("--nodes %s: want NODE=SERVICE, such as redis-1=my-redis", f)
		}
		own[node] = service
	}
	for node, service := range own {
		if _, known := services[node]; !known {
			names := slices.Sorted(maps.Keys(services))
			return nil, fmt.Errorf("there is no node named %q%s; there are %s", node, spelling.Suggest(node, names),
				strings.Join(names, ", "))
		}
		services[node] = service
	}
	return services, nil
}

// LoadMapping reads a mapping file; one that is not there says nothing.
func LoadMapping(path string) (map[string]string, error) {
	text, err := strictyaml.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read which services are which nodes: %w", err)
	}
	var file struct {
		Nodes map[string]string `yaml:"nodes"`
	}
	if err := strictyaml.Decode(text, &file); err != nil {
		return nil, exit.Misuse(strictyaml.Located(path, err))
	}
	if file.Nodes == nil {
		file.Nodes = map[string]string{}
	}
	return file.Nodes, nil
}
