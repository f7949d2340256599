package runtimes

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/hosts/docker"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Containers is the docker runtime: nodes in containers, clients and the store
// on hosts plugged into their network.
type Containers struct {
	Locks
	engine *docker.Engine
	images map[string]string // by what they are for: "redis"
	facts  []agent.Fact
}

// newContainers finds the engine, removes what earlier runs left, and sees to
// it that every image is there.
func newContainers(ctx context.Context, settings map[string]string, of Locks, plans []scenarios.Plan,
	say func(string)) (*Containers, error) {
	engine, err := docker.Connect(ctx)
	if err != nil {
		return nil, err
	}
	removed, err := engine.Clean(ctx)
	if err != nil {
		return nil, err
	}
	if removed.Any() {
		say("removed what an earlier run left: " + RemovedText(removed))
	}
	c := &Containers{Locks: of, engine: engine, images: map[string]string{}}
	for _, kind := range of.neededImages(plans) {
		image, err := obtain(ctx, engine, settings, kind, say)
		if err != nil {
			return nil, err
		}
		digest, _, err := engine.Has(ctx, image)
		if err != nil {
			return nil, err
		}
		c.images[kind] = image
		c.facts = append(c.facts, agent.Fact{Name: "image of " + kind, Version: image + " (" + digest + ")"})
	}
	return c, nil
}

// About names the engine and the images.
func (c *Containers) About() string {
	parts := []string{"docker: engine " + c.engine.Version}
	for _, kind := range ImageKinds() {
		if image := c.images[kind]; image != "" {
			parts = append(parts, image)
		}
	}
	return strings.Join(append(parts, hosts.Kernel()), ", ")
}

// Traits: it has none.
func (c *Containers) Traits() runs.Traits { return runs.Traits{} }

// Skip: the engine removes a container whose server dies.
func (c *Containers) Skip(plan scenarios.Plan) string { return unbearable(plan) }

// Close does nothing: containers end with the run of their plan.
func (c *Containers) Close() error { return nil }

// unbearable says why a plan's faults can't strike nodes that lockchaos did not
// start; "": they can.
func unbearable(plan scenarios.Plan) string {
	if err := possible.GuestsBear(plan, false); err != nil {
		return err.Error()
	}
	return ""
}

// Run starts the nodes of the plan in containers, and runs the plan beside them.
func (c *Containers) Run(ctx context.Context, plan scenarios.Plan, dir string, stdout, stderr io.Writer) error {
	return c.engine.Run(ctx, docker.Spec{Nodes: c.nodes(plan), Args: []string{ScenarioVerb, dir}, Dir: dir,
		Logs:  filepath.Join(dir, reports.LogFolder),
		Facts: c.facts, Stdout: stdout, Stderr: stderr})
}

// nodes are the containers of a plan.
func (c *Containers) nodes(plan scenarios.Plan) (nodes []docker.Node) {
	for _, k := range c.servicesOf(plan) {
		for _, n := range k.Nodes {
			nodes = append(nodes, docker.Node{Name: n.Name, Image: c.images[n.Program.Name],
				Task: func(addrs map[string]string) (docker.Task, error) {
					return ContainerTask(k, n.Name, addrs)
				}})
		}
	}
	return nodes
}

// ContainerTask is what a node's container runs, given the addresses of all.
func ContainerTask(k backends.Kind, node string, addrs map[string]string) (docker.Task, error) {
	place := backends.Place{Listen: addrs[node], Data: docker.DataDir, Peers: addrs, Contained: true}
	t, err := k.Task(node, place)
	if err != nil {
		return docker.Task{}, err
	}
	return docker.Task{Command: t.Command(place), Env: t.Env, User: t.User, UID: t.UID}, nil
}

// servicesOf are the services that a plan needs: its lock's, and its store's
// engine where that is a server.
func (of Locks) servicesOf(plan scenarios.Plan) []backends.Kind {
	lock, err := of(&plan.Scenario)
	if err != nil {
		return nil // a plan is checked when it is read
	}
	return possible.Services(lock.Service, plan.Scenario.Store)
}

// nodesFor are the nodes of those services.
func (of Locks) nodesFor(plan scenarios.Plan) (nodes []backends.NodeSpec) {
	for _, k := range of.servicesOf(plan) {
		nodes = append(nodes, k.Nodes...)
	}
	return nodes
}

// RemovedText says what was removed, as "2 containers (a, b)".
func RemovedText(r docker.Removed) string {
	var parts []string
	for _, part := range []struct {
		what  string
		names []string
	}{{"container", r.Containers}, {"network", r.Networks}, {"image", r.Images}} {
		if n := len(part.names); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s%s (%s)", n, part.what, spelling.Plural(n),
				strings.Join(part.names, ", ")))
		}
	}
	return strings.Join(parts, ", ")
}
