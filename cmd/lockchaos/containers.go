package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/hosts/docker"
	"github.com/lockchaos/lockchaos/scenarios"
	"github.com/lockchaos/lockchaos/spelling"
)

// containers is the docker runtime: nodes in containers, clients and the store on hosts plugged into their network.
type containers struct {
	engine *docker.Engine
	images map[string]string // by what they are for: "redis"
	facts  []docker.Fact
}

// newContainers finds the engine, removes what earlier runs left, and sees to it that every image is there.
func newContainers(ctx context.Context, settings map[string]string, plans []scenarios.Plan, say func(string)) (*containers, error) {
	engine, err := docker.Connect(ctx)
	if err != nil {
		return nil, err
	}
	removed, err := engine.Clean(ctx)
	if err != nil {
		return nil, err
	}
	if removed.Any() {
		say("removed what an earlier run left: " + removedText(removed))
	}
	c := &containers{engine: engine, images: map[string]string{}}
	for _, kind := range neededImages(plans) {
		image, err := obtain(ctx, engine, settings, kind, say)
		if err != nil {
			return nil, err
		}
		digest, _, err := engine.Has(ctx, image)
		if err != nil {
			return nil, err
		}
		c.images[kind] = image
		c.facts = append(c.facts, docker.Fact{Name: "image of " + kind, Version: image + " (" + digest + ")"})
	}
	return c, nil
}

func (c *containers) about() string {
	parts := []string{"docker: engine " + c.engine.Version}
	for _, kind := range imageKinds() {
		if image := c.images[kind]; image != "" {
			parts = append(parts, image)
		}
	}
	return strings.Join(append(parts, kernel()), ", ")
}

// skip: the engine removes a container whose server dies.
func (c *containers) skip(plan scenarios.Plan) string { return unbearable(plan) }
func (c *containers) close() error                    { return nil }

// unbearable says why a plan's faults can't strike nodes that lockchaos did not start; "": they can.
func unbearable(plan scenarios.Plan) string {
	if err := harness.GuestsBear(plan); err != nil {
		return err.Error()
	}
	return ""
}

func (c *containers) run(ctx context.Context, plan scenarios.Plan, dir string, stdout, stderr io.Writer) error {
	return c.engine.Run(ctx, docker.Spec{Nodes: c.nodes(plan), Args: []string{"scenario", dir}, Dir: dir, Logs: filepath.Join(dir, logFolder),
		Facts: c.facts, Stdout: stdout, Stderr: stderr})
}

// nodes are the containers of a plan.
func (c *containers) nodes(plan scenarios.Plan) (nodes []docker.Node) {
	for _, k := range servicesOf(plan) {
		for _, n := range k.Nodes {
			nodes = append(nodes, docker.Node{Name: n.Name, Image: c.images[n.Program.Name], Task: func(addrs map[string]string) (docker.Task, error) {
				return containerTask(k, n.Name, addrs)
			}})
		}
	}
	return nodes
}

// containerTask is what a node's container runs, given the addresses of all.
func containerTask(k backends.Kind, node string, addrs map[string]string) (docker.Task, error) {
	place := backends.Place{Listen: addrs[node], Data: docker.DataDir, Peers: addrs, Contained: true}
	t, err := k.Task(node, place)
	if err != nil {
		return docker.Task{}, err
	}
	return docker.Task{Command: t.Command(place), Env: t.Env, User: t.User}, nil
}

// servicesOf are the services that a plan needs: its lock's, and its store's engine where that is a server.
func servicesOf(plan scenarios.Plan) (kinds []backends.Kind) {
	lock, err := kindOf(&plan.Scenario)
	if err != nil {
		return nil // a plan is checked when it is read
	}
	if k, ok := backends.Lookup(lock.Service); ok {
		kinds = append(kinds, k)
	}
	// A guarded store lies in the lock's own service.
	store := plan.Scenario.Store
	if k, ok := backends.Lookup(store.EngineName()); ok && !store.Guarded() {
		kinds = append(kinds, k.WithPrefix(backends.StorePrefix))
	}
	return kinds
}

// nodesFor are the nodes of those services.
func nodesFor(plan scenarios.Plan) (nodes []backends.NodeSpec) {
	for _, k := range servicesOf(plan) {
		nodes = append(nodes, k.Nodes...)
	}
	return nodes
}

func removedText(r docker.Removed) string {
	var parts []string
	for _, part := range []struct {
		what  string
		names []string
	}{{"container", r.Containers}, {"network", r.Networks}, {"image", r.Images}} {
		if n := len(part.names); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s%s (%s)", n, part.what, spelling.Plural(n), strings.Join(part.names, ", ")))
		}
	}
	return strings.Join(parts, ", ")
}
