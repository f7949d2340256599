package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// agentData is the folder for the data of hosts in the agent: a tmpfs.
const agentData = "/data"

// agentCapabilities are what the inner program needs beside what every
// container has; see package hosts.
var agentCapabilities = []string{"SYS_ADMIN", "NET_ADMIN", "NET_RAW", "SYS_PTRACE", "KILL", "SYS_CHROOT"}

// agentContainer is a started agent's container.
type agentContainer struct {
	agent.Started
	id    string
	conn  client.ContainerAttachResult
	ended client.ContainerWaitResult
	input agent.Lines
}

// startAgent starts the inner program; it waits for the handover.
func (s *scenario) startAgent(ctx context.Context, image string) (*agentContainer, error) {
	fail := func(err error) (*agentContainer, error) {
		return nil, fmt.Errorf("start the agent's container (%s): %w", image, err)
	}
	c, err := s.engine.create(ctx, testcontainers.ContainerRequest{
		Image: image, Name: "lockchaos-" + s.id + "-agent", Entrypoint: []string{agentProgram}, Cmd: s.Args,
		Labels: map[string]string{labelOwner: s.engine.owner.String(), labelScenario: s.id, labelAgent: "1"},
		Tmpfs:  map[string]string{agentData: "mode=0700", "/tmp": "mode=1777"},
		ConfigModifier: func(c *container.Config) {
			c.WorkingDir = "/"
			c.Env = append(c.Env, hosts.AgentEnv(agentData))
			// Its input ends when our connection does, even by our death.
			c.OpenStdin, c.StdinOnce = true, true
			c.AttachStdin, c.AttachStdout, c.AttachStderr = true, true, true
		},
		HostConfigModifier: func(h *container.HostConfig) {
			h.AutoRemove, h.NetworkMode, h.PidMode, h.CapAdd = true, "host", "host", agentCapabilities
			h.Mounts = []mount.Mount{{Type: mount.TypeBind, Source: s.Dir, Target: s.Dir}}
		},
	})
	if err != nil {
		return fail(err)
	}
	a := &agentContainer{id: c.GetContainerID()}
	a.Started = agent.Started{Where: "the agent", Output: make(chan error, 1), Status: a.status,
		End: func() { _ = a.conn.CloseWrite() }} // it has ended by itself: just as well
	// These two live as long as the agent, whatever becomes of the start.
	a.conn, err = s.engine.client.ContainerAttach(context.WithoutCancel(ctx), a.id,
		client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return fail(err)
	}
	a.input.Out = a.conn.Conn
	a.ended = s.engine.client.ContainerWait(context.WithoutCancel(ctx), a.id,
		client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	go func() { a.Output <- demultiplex(s.running, s.Stderr, a.conn.Reader) }()
	if err := c.Start(ctx); err != nil {
		a.close()
		return fail(err)
	}
	return a, nil
}

// tell hands over.
func (a *agentContainer) tell(h handover) error {
	if err := a.input.Say(h); err != nil {
		return fmt.Errorf("tell the agent where the nodes are: %w", err)
	}
	return nil
}

// status is how the container ended, nil for 0; lost is why its output has.
func (a *agentContainer) status(lost error) error {
	return errors.Join(lost, a.exit())
}

// exit waits until the container has ended, and says how.
func (a *agentContainer) exit() error {
	t := time.NewTimer(deathLimit)
	defer t.Stop()
	select {
	case end := <-a.ended.Result:
		if end.StatusCode != 0 {
			return &agent.ExitError{Where: "the agent's container", Status: int(end.StatusCode)}
		}
		return nil
	case err := <-a.ended.Error:
		return fmt.Errorf("wait for the agent's end: %w", err)
	case <-t.C:
		return errors.New("the agent's output ended and its container did not")
	}
}

// close drops the connection, and with it the agent's input.
func (a *agentContainer) close() { a.conn.Close() }

// addresses gives each node an address of the lower half, after the gateway's.
func (s *scenario) addresses() (addrs []netip.Addr, named map[string]string) {
	named = map[string]string{}
	addr := s.net.prefix.Addr().Next()
	for _, n := range s.Nodes {
		addr = addr.Next()
		addrs, named[n.Name] = append(addrs, addr), addr.String()
	}
	return addrs, named
}
