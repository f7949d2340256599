package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/lockchaos/lockchaos/internal/hosts/agent"
)

// Removed says what Clean took away and what it left, by name.
type Removed struct {
	Containers, Networks, Images []string
	// Unknown belongs to processes that can't be judged from here: they live in
	// another PID namespace.
	Unknown []string
}

// Any reports whether anything was removed.
func (r Removed) Any() bool { return len(r.Containers)+len(r.Networks)+len(r.Images) > 0 }

// removeLimit bounds how long the engine may take to remove something.
const removeLimit = 30 * time.Second

// Clean removes what runs left behind whose process is no more: containers, networks, and agents'
// images that no container uses. What belongs to a living run is left, and with that its image.
//
// A dead run's agent may still be at work: it heals what was done to nodes,
// which can be a project's, and ends by itself. It is given the time that it has
// for that before it is removed by force: killed, it would leave them stopped.
func (e *Engine) Clean(ctx context.Context) (r Removed, err error) {
	ctx, cancel := context.WithTimeout(ctx, agent.Grace+removeLimit)
	defer cancel()
	if err := e.awaitAgents(ctx); err != nil {
		return r, err
	}
	containers, err := e.client.ContainerList(ctx,
		client.ContainerListOptions{All: true, Filters: labelled(labelOwner)})
	if err != nil {
		return r, fmt.Errorf("list what earlier runs left: %w", err)
	}
	busy := false // another run lives: it may be about to use its image
	// dispose removes what belongs to a dead run.
	dispose := func(what, id, name, owner string, remove func(context.Context, string) error, removed *[]string) error {
		switch e.judge(owner) {
		case dead:
			if err := remove(ctx, id); err != nil {
				return fmt.Errorf("remove %s %s: %w", what, name, err)
			}
			*removed = append(*removed, name)
		case unknown:
			r.Unknown, busy = append(r.Unknown, name), true
		case living:
			busy = true
		}
		return nil
	}
	for _, c := range containers.Items {
		name := c.ID[:12]
		if len(c.Names) > 0 {
			name = c.Names[0][1:]
		}
		if err := dispose("container", c.ID, name, c.Labels[labelOwner], e.removeContainer, &r.Containers); err != nil {
			return r, err
		}
	}
	networks, err := e.client.NetworkList(ctx, client.NetworkListOptions{Filters: labelled(labelOwner)})
	if err != nil {
		return r, fmt.Errorf("list what earlier runs left: %w", err)
	}
	for _, n := range networks.Items {
		if err := dispose("network", n.ID, n.Name, n.Labels[labelOwner], e.removeNetwork, &r.Networks); err != nil {
			return r, err
		}
	}
	if busy {
		return r, nil
	}
	r.Images, err = e.removeAgents(ctx)
	return r, err
}

// awaitAgents returns when no agent of a dead run is at work any more, or when
// those that are have had their time.
func (e *Engine) awaitAgents(ctx context.Context) error {
	// those that run
	agents, err := e.client.ContainerList(ctx, client.ContainerListOptions{Filters: labelled(labelAgent)})
	if err != nil {
		return fmt.Errorf("look for agents of earlier runs: %w", err)
	}
	grace, cancel := context.WithTimeout(ctx, agent.Grace)
	defer cancel()
	for _, a := range agents.Items {
		if e.judge(a.Labels[labelOwner]) != dead {
			continue
		}
		end := e.client.ContainerWait(grace, a.ID,
			client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
		select {
		case <-end.Result:
		case err := <-end.Error:
			if err != nil && !errdefs.IsNotFound(err) && grace.Err() == nil {
				return fmt.Errorf("wait for the agent %s of an earlier run, which may be healing: %w", a.ID[:12], err)
			}
		case <-grace.Done():
		}
	}
	return ctx.Err()
}

// judge reports whether the process that a label names still lives.
func (e *Engine) judge(label string) life {
	o, ok := parseOwner(label)
	if !ok {
		return unknown
	}
	return o.alive(e.owner)
}

// removeAgents removes the images of agents, but for the one that this program would use itself.
func (e *Engine) removeAgents(ctx context.Context) (names []string, err error) {
	own, err := agentImage()
	if err != nil {
		own = "" // this program is none that could be an agent
	}
	images, err := e.client.ImageList(ctx, client.ImageListOptions{Filters: labelled(labelAgent)})
	if err != nil {
		return nil, fmt.Errorf("list the images of agents: %w", err)
	}
	for _, image := range images.Items {
		for _, name := range image.RepoTags {
			if name == own {
				continue
			}
			_, err := e.client.ImageRemove(ctx, name, client.ImageRemoveOptions{PruneChildren: true})
			switch {
			case err == nil:
				names = append(names, name)
			case !errdefs.IsConflict(err) && !errdefs.IsNotFound(err): // in use after all, or gone
				return names, fmt.Errorf("remove image %s: %w", name, err)
			}
		}
	}
	return names, nil
}

// labelled selects what has a label, with the given value if there is one.
func labelled(label string, value ...string) client.Filters {
	if len(value) > 0 {
		label += "=" + value[0]
	}
	return make(client.Filters).Add("label", label)
}

// removeStep is the pause between two looks at what is being removed.
const removeStep = 10 * time.Millisecond

// removeContainer kills a container, removes it with its volumes, and returns
// when it is gone. The engine may be removing it already.
func (e *Engine) removeContainer(ctx context.Context, id string) error {
	for {
		_, err := e.client.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case errdefs.IsNotFound(err):
			return nil
		case err != nil && !errdefs.IsConflict(err): // a conflict: it is being removed
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(removeStep):
		}
	}
}

// removeNetwork removes a network. A container that has just ended may be
// joined to it for a moment more.
func (e *Engine) removeNetwork(ctx context.Context, id string) error {
	for {
		_, err := e.client.NetworkRemove(ctx, id, client.NetworkRemoveOptions{})
		if err == nil || errdefs.IsNotFound(err) {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(removeStep):
		}
	}
}
