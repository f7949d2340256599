package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/redact"
)

// The labels with which compose marks its containers.
const (
	labelProject = "com.docker.compose.project"
	labelFolder  = "com.docker.compose.project.working_dir"
	labelService = "com.docker.compose.service"
	labelNumber  = "com.docker.compose.container-number"
)

// Project is a running project of docker-compose, whose containers are nodes.
type Project struct {
	Name string
	// Facts name the images of its nodes.
	Facts []agent.Fact

	nodes map[string]member
}

// member is a container that is a node.
type member struct {
	id, service, image string
	networks           map[string]*network.EndpointSettings // by the network's name
}

// ErrNoService: the project has no running container for a node.
var ErrNoService = errors.New("no running container")

// FindProject finds a running project by its name or its folder, and in it the container of
// each node: services gives the compose service of each node, with ":2" behind it for the
// second container of a service. Nodes without a container are left out, and Lacks names them.
func (e *Engine) FindProject(ctx context.Context, nameOrFolder string, services map[string]string) (*Project, error) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	list, err := e.client.ContainerList(ctx, client.ContainerListOptions{Filters: labelled(labelProject)})
	if err != nil {
		return nil, fmt.Errorf("look for compose projects: %w", err)
	}
	p := &Project{nodes: map[string]member{}}
	var names []string
	members := map[string]container.Summary{} // by "service:number"
	for _, c := range list.Items {
		name := c.Labels[labelProject]
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		if name != nameOrFolder && !sameFolder(c.Labels[labelFolder], nameOrFolder) {
			continue
		}
		if p.Name != "" && p.Name != name {
			return nil, fmt.Errorf("the folder %s has two running projects, %s and %s: name one", nameOrFolder, p.Name,
				name)
		}
		p.Name = name
		members[c.Labels[labelService]+":"+c.Labels[labelNumber]] = c
	}
	if p.Name == "" {
		return nil, fmt.Errorf("no compose project of the name or folder %s is running (%s): docker-compose up -d, or choose another", nameOrFolder, running(names))
	}
	for node, service := range services {
		if _, numbered := numberOf(service); !numbered {
			service += ":1"
		}
		if c, ok := members[service]; ok {
			p.nodes[node] = member{id: c.ID, service: service, image: c.Image, networks: c.NetworkSettings.Networks}
			p.note(c)
		}
	}
	return p, nil
}

// note remembers an image, once.
func (p *Project) note(c container.Summary) {
	f := agent.Fact{Name: "image of " + c.Labels[labelService], Version: c.Image + " (" + short(c.ImageID) + ")"}
	if !slices.Contains(p.Facts, f) {
		p.Facts = append(p.Facts, f)
	}
}

// Lacks returns the nodes among those given that have no container in the project.
func (p *Project) Lacks(nodes []string) (missing []string) {
	for _, n := range nodes {
		if _, ok := p.nodes[n]; !ok {
			missing = append(missing, n)
		}
	}
	return missing
}

// numberOf is the number behind a service's name, if it has one.
func numberOf(service string) (n int, ok bool) {
	_, number, ok := strings.Cut(service, ":")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(number)
	return n, err == nil
}

func running(names []string) string {
	if len(names) == 0 {
		return "none is"
	}
	slices.Sort(names)
	return "there are " + strings.Join(names, ", ")
}

// sameFolder reports whether a label names the folder.
func sameFolder(label, folder string) bool {
	if label == "" || folder == "" {
		return false
	}
	a, errA := os.Stat(label)
	b, errB := os.Stat(folder)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// joinNodes finds the network that the named nodes share, and what of its addresses is free.
func (e *Engine) joinNodes(ctx context.Context, p *Project, nodes []Node) (*bridge, error) {
	if len(nodes) == 0 {
		return nil, errors.New("this lock needs no service: there is nothing to join")
	}
	var shared []string
	for i, n := range nodes {
		m, ok := p.nodes[n.Member]
		if !ok {
			return nil, fmt.Errorf("node %s: %w in project %s", n.Name, ErrNoService, p.Name)
		}
		var names []string
		for name := range m.networks {
			if i == 0 || slices.Contains(shared, name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		shared = names
	}
	if len(shared) == 0 {
		return nil, fmt.Errorf("the nodes of project %s share no network: put them on one", p.Name)
	}
	return e.bridgeOf(ctx, shared[0])
}

// bridgeOf is the bridge of a network that is there.
func (e *Engine) bridgeOf(ctx context.Context, name string) (*bridge, error) {
	i, err := e.client.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
	if err != nil {
		return nil, fmt.Errorf("inspect network %s: %w", name, err)
	}
	n := i.Network
	if n.Driver != "bridge" {
		return nil, fmt.Errorf("network %s has the driver %s: hosts can be plugged into a bridge only", name, n.Driver)
	}
	b := &bridge{id: n.ID, name: n.Options["com.docker.network.bridge.name"]}
	if b.name == "" {
		b.name = "br-" + n.ID[:12]
	}
	for _, c := range n.IPAM.Config {
		if c.Subnet.Addr().Is4() {
			b.prefix = c.Subnet.Masked()
			b.taken = append(b.taken, c.Gateway)
			for _, a := range c.AuxAddress {
				b.taken = append(b.taken, a)
			}
		}
	}
	if !b.prefix.IsValid() || b.prefix.Bits() > 26 {
		return nil, fmt.Errorf("network %s (%s) has no room for hosts beside its containers: give it an IPv4 subnet of at most 26 bits", name, b.prefix)
	}
	for _, c := range n.Containers {
		b.taken = append(b.taken, c.IPv4Address.Addr())
	}
	_, b.first = halves(b.prefix)
	return b, nil
}

// findNodes locates the project's containers and follows their logs for the rest of the run.
func (e *Engine) findNodes(ctx context.Context, s *scenario) ([]*runningNode, error) {
	nodes := make([]*runningNode, len(s.Nodes))
	for i, n := range s.Nodes {
		m := s.Project.nodes[n.Member]
		r := &runningNode{name: n.Name, image: m.image, id: m.id, log: filepath.Join(s.Logs, n.Name+".log"),
			logged: make(chan struct{})}
		c, err := e.client.ContainerInspect(ctx, m.id, client.ContainerInspectOptions{})
		if err != nil {
			return nil, fmt.Errorf("node %s: inspect its container: %w", n.Name, err)
		}
		if c.Container.Config != nil {
			// what the application knows as a secret is one in its log, too
			redact.Environment(c.Container.Config.Env)
		}
		state := c.Container.State
		if state != nil && state.Paused {
			return nil, fmt.Errorf("node %s: the container of service %s is paused: docker-compose unpause %s", n.Name,
				m.service, m.service)
		}
		if state == nil || !state.Running {
			return nil, fmt.Errorf("node %s: the container of service %s does not run: docker-compose up -d", n.Name,
				m.service)
		}
		r.pid, r.addr = state.Pid, s.addressIn(c.Container.NetworkSettings)
		if !r.addr.IsValid() {
			return nil, fmt.Errorf("node %s: the container of service %s is not on the network of the others", n.Name,
				m.service)
		}
		if err := e.followFrom(ctx, r, time.Now()); err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name, err)
		}
		nodes[i] = r
	}
	return nodes, nil
}

// addressIn is a container's address on the scenario's network.
func (s *scenario) addressIn(settings *container.NetworkSettings) netip.Addr {
	for _, n := range settings.Networks {
		if n.NetworkID == s.net.id {
			return n.IPAddress
		}
	}
	return netip.Addr{}
}

// followFrom carries the output of a container that runs already into its log, until ctx ends.
func (e *Engine) followFrom(ctx context.Context, r *runningNode, since time.Time) error {
	log, err := os.Create(r.log)
	if err != nil {
		return fmt.Errorf("create its log: %w", err)
	}
	stream, err := e.client.ContainerLogs(ctx, r.id,
		client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Follow: true,
			Since: fmt.Sprintf("%d.%09d", since.Unix(), since.Nanosecond())})
	if err != nil {
		log.Close()
		return fmt.Errorf("follow its output: %w", err)
	}
	go func() {
		defer close(r.logged)
		defer log.Close()
		defer stream.Close()
		_ = copySafely(log, stream)
	}()
	return nil
}
