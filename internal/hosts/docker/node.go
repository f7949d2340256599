package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/redact"
)

// DataDir is the folder for data in a node's container: on a tmpfs, and
// writable for every user of the image.
const DataDir = "/lockchaos"

// Node is one server to run in a container of its own.
type Node struct {
	Name, Image string
	// Member is what a project calls it, where it is one of a project's.
	Member string
	// Task says what it runs, when the address of every node is known by name.
	Task func(addrs map[string]string) (Task, error)
}

// Task is what a container runs, whatever its image would by itself.
type Task struct {
	Command []string
	Env     []string // NAME=value
	User    string   // "": the image's
	UID     int64    // its number, where that matters; an engine looks the name up by itself
}

// runningNode is a node's container.
type runningNode struct {
	name, image, id, log string
	addr                 netip.Addr
	pid                  int
	own                  bool
	logged               chan struct{} // closed at the end of its output
	ended                client.ContainerWaitResult
}

// startNode makes and starts a node's container, and returns when its process runs.
func (e *Engine) startNode(ctx context.Context, s *scenario, n Node, addr netip.Addr, task Task) (*runningNode, error) {
	r := &runningNode{name: n.Name, image: n.Image, addr: addr, own: true, log: filepath.Join(s.Logs, n.Name+".log"),
		logged: make(chan struct{})}
	c, err := e.create(ctx, testcontainers.ContainerRequest{
		Image: n.Image, Name: "lockchaos-" + s.id + "-" + n.Name, Entrypoint: task.Command[:1], Cmd: task.Command[1:],
		Labels: map[string]string{labelOwner: e.owner.String(), labelScenario: s.id, labelNode: n.Name},
		Tmpfs:  map[string]string{DataDir: "mode=1777"},
		ConfigModifier: func(c *container.Config) {
			// Not DataDir: the engine would make that folder first, as root's,
			// and the tmpfs would take over its mode.
			c.User, c.WorkingDir, c.Hostname = task.User, "/", n.Name
			c.Env = append(c.Env, task.Env...)
			c.AttachStdout, c.AttachStderr = true, true
		},
		HostConfigModifier: func(h *container.HostConfig) {
			h.AutoRemove, h.NetworkMode = true, container.NetworkMode(s.net.id)
		},
		EndpointSettingsModifier: func(all map[string]*network.EndpointSettings) {
			all[s.net.id] = &network.EndpointSettings{IPAMConfig: &network.EndpointIPAMConfig{IPv4Address: addr}}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("node %s: make its container from image %s: %w", n.Name, n.Image, err)
	}
	r.id = c.GetContainerID()
	if err := e.follow(ctx, r); err != nil {
		return nil, fmt.Errorf("node %s: %w", n.Name, err)
	}
	r.ended = e.client.ContainerWait(ctx, r.id, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if err := c.Start(ctx); err != nil {
		return nil, fmt.Errorf("node %s: start %s in image %s (does the image hold it?): %w", n.Name, task.Command[0],
			n.Image, err)
	}
	return r, e.locate(ctx, r)
}

// locate learns the number of the node's first process.
func (e *Engine) locate(ctx context.Context, r *runningNode) error {
	i, err := e.client.ContainerInspect(ctx, r.id, client.ContainerInspectOptions{})
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("node %s: inspect its container: %w", r.name, err)
	}
	if err != nil || i.Container.State == nil || !i.Container.State.Running {
		return r.died(ctx)
	}
	r.pid = i.Container.State.Pid
	return nil
}

// create makes a container and does not start it.
func (e *Engine) create(ctx context.Context, req testcontainers.ContainerRequest) (testcontainers.Container, error) {
	// Without ports in a request the library publishes those that the image
	// names. Nothing outside the network has any business with a server that
	// trusts everybody: take them out again, after the library's own preparation.
	var config *container.Config
	var host *container.HostConfig
	modifyConfig, modifyHost := req.ConfigModifier, req.HostConfigModifier
	req.ConfigModifier = func(c *container.Config) { config = c; modifyConfig(c) }
	req.HostConfigModifier = func(h *container.HostConfig) { host = h; modifyHost(h) }
	req.LifecycleHooks = []testcontainers.ContainerLifecycleHooks{{PreCreates: []testcontainers.ContainerRequestHook{
		func(context.Context, testcontainers.ContainerRequest) error {
			config.ExposedPorts, host.PortBindings = nil, nil
			return nil
		},
	}}}
	return e.provider.CreateContainer(ctx, req)
}

// follow carries the container's output into its log. It attaches before the
// start, or the first lines were lost.
func (e *Engine) follow(ctx context.Context, r *runningNode) error {
	log, err := os.Create(r.log)
	if err != nil {
		return fmt.Errorf("create its log: %w", err)
	}
	a, err := e.client.ContainerAttach(ctx, r.id, client.ContainerAttachOptions{Stream: true, Stdout: true,
		Stderr: true})
	if err != nil {
		log.Close()
		return fmt.Errorf("attach to its output: %w", err)
	}
	go func() {
		defer close(r.logged)
		defer log.Close()
		defer a.Close()
		_ = copySafely(log, a.Reader) // ends with the container
	}()
	return nil
}

// deathLimit bounds how long the engine may take to tell how a container ended that has.
const deathLimit = 5 * time.Second

// died is the error for a node that ended before it was attached to.
func (r *runningNode) died(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, deathLimit)
	defer cancel()
	how := "it ended at once"
	select {
	case end := <-r.ended.Result:
		how = fmt.Sprintf("it ended at once, with status %d", end.StatusCode)
	case <-r.ended.Error:
	case <-ctx.Done():
	}
	select {
	case <-r.logged:
	case <-ctx.Done():
	}
	return fmt.Errorf("node %s from image %s died at its start: %s; %w", r.name, r.image, how, logEnd(r.log))
}

// logLines is how many lines of a log an error shows.
const logLines = 12

// logEnd is the end of a log as an error.
func logEnd(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	said := strings.ToValidUTF8(strings.TrimSpace(string(text)), "\uFFFD")
	if said == "" {
		return errors.New("it logged nothing")
	}
	return fmt.Errorf("the end of its log:\n\t%s", strings.ReplaceAll(harmless.Ending(said, logLines), "\n", "\n\t"))
}

// copySafely carries a container's output into its log, line by line and without secrets.
func copySafely(log io.Writer, from io.Reader) error {
	stdout, stderr := redact.NewWriter(log), redact.NewWriter(log)
	return errors.Join(demultiplex(stdout, stderr, from), stdout.Flush(), stderr.Flush())
}

// demultiplex splits a container's stream into its two.
func demultiplex(stdout, stderr io.Writer, from io.Reader) error {
	_, err := stdcopy.StdCopy(stdout, stderr, from)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}
