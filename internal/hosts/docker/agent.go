package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// agentGrace is how long the agent may take to heal and to record, once its input has ended.
const agentGrace = 10 * time.Second

// agentData is the folder for the data of hosts in the agent: a tmpfs.
const agentData = "/data"

// agentCapabilities are what the inner program needs beside what every
// container has; see package hosts.
var agentCapabilities = []string{"SYS_ADMIN", "NET_ADMIN", "NET_RAW", "SYS_PTRACE", "KILL", "SYS_CHROOT"}

// agent is a started agent's container.
type agent struct {
	engine *Engine
	id     string
	conn   client.ContainerAttachResult
	ended  client.ContainerWaitResult
	output chan error // the end of its output

	saying sync.Mutex
}

// ExitError says how the inner program ended.
type ExitError struct{ Status int }

// Error names the status.
func (e *ExitError) Error() string {
	return fmt.Sprintf("the agent's container: exit status %d", e.Status)
}

// ExitCode returns the status, as that of an *exec.ExitError.
func (e *ExitError) ExitCode() int { return e.Status }

// startAgent starts the inner program; it waits for the handover.
func (s *scenario) startAgent(ctx context.Context, image string) (*agent, error) {
	fail := func(err error) (*agent, error) {
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
	a := &agent{engine: s.engine, id: c.GetContainerID(), output: make(chan error, 1)}
	// These two live as long as the agent, whatever becomes of the start.
	a.conn, err = s.engine.client.ContainerAttach(context.WithoutCancel(ctx), a.id,
		client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return fail(err)
	}
	a.ended = s.engine.client.ContainerWait(context.WithoutCancel(ctx), a.id,
		client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	go func() { a.output <- demultiplex(s.running, s.Stderr, a.conn.Reader) }()
	if err := c.Start(ctx); err != nil {
		a.close()
		return fail(err)
	}
	return a, nil
}

// tell hands over.
func (a *agent) tell(h handover) error {
	if err := a.say(h); err != nil {
		return fmt.Errorf("tell the agent where the nodes are: %w", err)
	}
	return nil
}

// say writes one line to the agent's input.
func (a *agent) say(what any) error {
	a.saying.Lock()
	defer a.saying.Unlock()
	return json.NewEncoder(a.conn.Conn).Encode(what)
}

// wait returns when the agent has ended. If ctx ends first, so does its input.
func (a *agent) wait(ctx context.Context) error {
	defer a.close()
	select {
	case err := <-a.output:
		return errors.Join(err, a.status())
	case <-ctx.Done():
	}
	_ = a.conn.CloseWrite() // it has ended by itself: just as well
	t := time.NewTimer(agentGrace)
	defer t.Stop()
	select {
	case err := <-a.output:
		return errors.Join(err, a.status())
	case <-t.C:
		return fmt.Errorf("the agent has not ended %v after it was told to", agentGrace)
	}
}

// status is how the container ended, nil for 0.
func (a *agent) status() error {
	t := time.NewTimer(deathLimit)
	defer t.Stop()
	select {
	case end := <-a.ended.Result:
		if end.StatusCode != 0 {
			return &ExitError{int(end.StatusCode)}
		}
		return nil
	case err := <-a.ended.Error:
		return fmt.Errorf("wait for the agent's end: %w", err)
	case <-t.C:
		return errors.New("the agent's output ended and its container did not")
	}
}

// close drops the connection, and with it the agent's input.
func (a *agent) close() { a.conn.Close() }

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
