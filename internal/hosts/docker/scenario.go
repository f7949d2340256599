package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/moby/moby/client"

	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/hosts/commands"
	"golang.org/x/sync/errgroup"
)

// Spec is one scenario: nodes, and an inner program beside them.
type Spec struct {
	// Nodes are started in containers, unless they are a project's.
	Nodes   []Node
	Project *Project
	// Args are the inner program's, after its own name.
	Args []string
	// Dir is mounted into the agent where it is outside: an absolute path. Logs
	// is the folder below it for the logs of the nodes.
	Dir, Logs string
	// Keys begins the names of locks.
	Keys           string
	Facts          []agent.Fact
	Stdout, Stderr io.Writer
}

// scenario is a running Spec.
type scenario struct {
	Spec
	engine *Engine
	id     string
	net    *bridge
	// running are the commands that the inner program has asked for.
	running *commands.Runs
}

// Run starts the nodes and the agent, waits for the agent's end and removes everything.
// If the inner program exits with another status than 0, the error is an *agent.ExitError.
// When ctx ends, the agent is told to end: it heals, and records what there is.
func (e *Engine) Run(ctx context.Context, spec Spec) (err error) {
	s := &scenario{Spec: spec, engine: e, id: strings.ToLower(rand.Text()[:10])}
	defer func() { err = errors.Join(err, s.remove()) }()
	// What follows the nodes' logs ends with the run.
	ctx, cancel := context.WithCancel(ctx)
	s.running = s.execs(ctx)
	defer func() { cancel(); err = errors.Join(err, s.running.Close()) }()
	if spec.Project != nil {
		s.net, err = e.joinNodes(ctx, spec.Project, spec.Nodes)
	} else {
		s.net, err = e.makeNetwork(ctx, s.id)
	}
	if err != nil {
		return err
	}
	// Before any node: without an agent there is nobody to end them when we are killed.
	image, err := e.needAgent(ctx)
	if err != nil {
		return err
	}
	var nodes []*runningNode
	var a *agentContainer
	up, upCtx := errgroup.WithContext(ctx)
	up.Go(func() (err error) { nodes, err = s.startNodes(ctx, upCtx); return err })
	up.Go(func() (err error) { a, err = s.startAgent(upCtx, image); return err })
	if err := up.Wait(); err != nil {
		if a != nil {
			a.close()
		}
		return err
	}
	s.running.To(func(t commands.Told) { _ = a.input.Say(t) }) // if it has ended, nobody waits for it
	if err := a.tell(s.handover(nodes)); err != nil {
		a.close()
		return err
	}
	defer a.close()
	return a.Wait(ctx)
}

// startNodes starts every node; those of a project run already. Logs are
// followed for the whole run, the starts may be cut short earlier.
func (s *scenario) startNodes(ctx, upCtx context.Context) ([]*runningNode, error) {
	if s.Project != nil {
		return s.engine.findNodes(ctx, s)
	}
	addrs, named := s.addresses()
	// All tasks before the first start: when this returns, nothing may be at
	// work any more that would make containers.
	tasks := make([]Task, len(s.Nodes))
	for i, n := range s.Nodes {
		var err error
		if tasks[i], err = n.Task(named); err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name, err)
		}
	}
	nodes := make([]*runningNode, len(s.Nodes))
	up, upCtx := errgroup.WithContext(upCtx)
	for i, n := range s.Nodes {
		up.Go(func() (err error) {
			nodes[i], err = s.engine.startNode(upCtx, s, n, addrs[i], tasks[i])
			return err
		})
	}
	return nodes, up.Wait()
}

// handover is what the agent has to know.
func (s *scenario) handover(nodes []*runningNode) handover {
	h := handover{Bridge: s.net.name, Prefix: s.net.prefix, First: s.net.first, Taken: s.net.taken,
		Dir: s.Dir, UID: os.Getuid(), GID: os.Getgid(), Handover: agent.Handover{Keys: s.Keys,
			Facts: append([]agent.Fact{{Name: "docker engine", Version: s.engine.Version}}, s.Facts...)}}
	for _, n := range nodes {
		h.Nodes = append(h.Nodes, handedNode{Name: n.name, PID: n.pid, Addr: n.addr, Log: n.log, Own: n.own})
	}
	return h
}

// remove takes away everything that bears the scenario's label, also what an
// interrupted call may have made.
func (s *scenario) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), removeLimit)
	defer cancel()
	list, err := s.engine.client.ContainerList(ctx,
		client.ContainerListOptions{All: true, Filters: labelled(labelScenario, s.id)})
	if err != nil {
		return fmt.Errorf("remove the scenario's containers: %w", err)
	}
	var all errgroup.Group
	for _, c := range list.Items {
		all.Go(func() error { return s.engine.removeContainer(ctx, c.ID) })
	}
	if err := all.Wait(); err != nil {
		return fmt.Errorf("remove the scenario's containers: %w", err)
	}
	nets, err := s.engine.client.NetworkList(ctx, client.NetworkListOptions{Filters: labelled(labelScenario, s.id)})
	if err != nil {
		return fmt.Errorf("remove the scenario's network: %w", err)
	}
	for _, n := range nets.Items {
		if err := s.engine.removeNetwork(ctx, n.ID); err != nil {
			return fmt.Errorf("remove the scenario's network: %w", err)
		}
	}
	return nil
}
