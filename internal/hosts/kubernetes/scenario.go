package kubernetes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/hosts/commands"
)

// Spec is one scenario: servers or an application's pods, seats, and an inner program beside them.
type Spec struct {
	Servers []Server
	// Members are the pods of an application, which run already, in the order
	// in which the inner program knows them.
	Members []Member
	// Together says why all members must be on one node; "": they need not.
	Together string
	// Seats is how many networks of pods are needed beside those.
	Seats int
	// Image is that of this program.
	Image string
	// Data is where servers have their folder for data, in memory.
	Data string
	// Args are the inner program's, after its own name; Folder among them
	// stands for the folder of the scenario.
	Args []string
	// Dir is the folder of the scenario, Logs that for the logs of nodes, below it.
	Dir, Logs string
	// Keys begins the names of locks.
	Keys  string
	Facts []agent.Fact
	// On are the nodes of the cluster on one of which the scenario may run.
	On []Node
	// Length is how long it takes, as planned.
	Length         time.Duration
	Stdout, Stderr io.Writer
}

// Folder stands for the folder of the scenario among the arguments of the inner program.
const Folder = scenarioDir

// Server is one server to run in a pod of its own.
type Server struct {
	Name, Image string
	// UID is the number of the user that it runs as; 0: any but root's.
	UID int64
	// Task says what it runs, when the address of every server is known by name.
	Task func(addrs map[string]string) (Task, error)
}

// scenario is a running Spec.
type scenario struct {
	Spec
	*Cluster
	id     string
	node   Node
	agent  *agentPod
	places *places
	// told is what the agent was told at the start, helpers are the agents on other nodes.
	told    handover
	helpers helpers
	// running are the commands that the inner program has asked for.
	running *commands.Runs
}

// startLimit bounds how long it may take until all pods of a scenario run, images that
// are pulled included. upkeep is what a scenario may take beside that and its length.
const (
	startLimit = 5 * time.Minute
	upkeep     = 10 * time.Minute
)

// limit is after how long the cluster ends the pods of a scenario, whatever became of us.
func (s *scenario) limit() time.Duration { return 2*s.Length + startLimit + upkeep }

// Run makes the pods and the agent, waits for the agent's end and removes everything.
// If the inner program exits with another status than 0, the error is an *agent.ExitError.
// When ctx ends, the agent is told to end: it heals, and records what there is.
func (c *Cluster) Run(ctx context.Context, spec Spec) (err error) {
	s := &scenario{Spec: spec, Cluster: c, id: strings.ToLower(rand.Text()[:10]), places: newPlaces(spec.Members)}
	s.node = spec.On[int(c.placed.Add(1)-1)%len(spec.On)]
	if len(spec.Members) > 0 {
		s.node = Node{Name: spec.Members[0].node}
	}
	if err := s.checkOneNode(spec.Members); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	// What follows logs ends with the run.
	ctx, cancel := context.WithCancel(ctx)
	var logs errgroup.Group
	defer func() { cancel(); err = errors.Join(err, logs.Wait()) }()
	starting, started := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not all pods ran after %v", startLimit))
	defer started()
	count, err := s.start(starting)
	if err != nil {
		return err
	}
	// It is to hear that we live while the others start.
	if _, err := s.await(starting, s.node.Name, s.agentPods, 1); err != nil {
		return err
	}
	a, err := s.attachAgent(ctx)
	if err != nil {
		return err
	}
	s.agent = a
	defer a.close()
	pods, err := s.await(starting, s.node.Name, s.all, count)
	if err != nil {
		return err
	}
	s.told, err = s.handover(pods)
	s.told.Control = s.control(ctx)
	h := s.told
	defer s.helpers.close()
	for _, m := range spec.Members {
		if err == nil {
			_, err = s.helper(ctx, m.node)
		}
	}
	if err == nil {
		err = a.say(order{Handover: &h})
	}
	if err == nil {
		err = s.serve(ctx, pods)
	}
	if err != nil {
		a.close()
		return errors.Join(err, a.Wait(ctx))
	}
	follow := func(n handedNode) { logs.Go(func() error { return s.follow(ctx, n) }) }
	for _, n := range h.Nodes {
		follow(n)
	}
	s.places.since = pods[s.agentName(s.node.Name)].CreationTimestamp.Time
	logs.Go(func() error { return s.succeed(ctx, follow) })
	return a.Wait(ctx)
}

// start makes all pods, and returns how many.
func (s *scenario) start(ctx context.Context) (count int, err error) {
	var wanted []*corev1.Pod
	for _, n := range s.Servers {
		wanted = append(wanted, s.nodePod(n))
	}
	for i := range s.Seats {
		wanted = append(wanted, s.seatPod(i))
	}
	// before the others: its end is what tells that a scenario is over
	err = s.create(ctx, s.agents(), s.agentPod(s.node.Name))
	if apierrors.IsAlreadyExists(err) {
		return 0, fmt.Errorf("another run of lockchaos is at work on the application in namespace %s: wait for its end",
			s.Members[0].pod.Namespace)
	}
	if err != nil {
		return 0, err
	}
	var making errgroup.Group
	for _, p := range wanted {
		making.Go(func() error { return s.create(ctx, s.Namespace, p) })
	}
	return len(wanted) + 1, making.Wait()
}

// serve tells every server what to run.
func (s *scenario) serve(ctx context.Context, pods map[string]corev1.Pod) error {
	addrs := map[string]string{}
	for _, n := range s.Servers {
		addrs[n.Name] = pods[s.podName(n.Name)].Status.PodIP
	}
	var telling errgroup.Group
	for _, n := range s.Servers {
		t, err := n.Task(addrs)
		if err != nil {
			return fmt.Errorf("node %s: %w", n.Name, err)
		}
		telling.Go(func() error {
			if err := s.tell(ctx, s.podName(n.Name), t); err != nil {
				return fmt.Errorf("node %s: say what it is to run: %w", n.Name, err)
			}
			return nil
		})
	}
	return telling.Wait()
}

func (s *scenario) podName(name string) string { return "lockchaos-" + s.id + "-" + name }

// agentName is what the agent's pod is called. Two runs on one application
// would take each other's faults for their own: so that of an application is
// called by the application's namespace, and there can be one.
func (s *scenario) agentName(node string) string {
	switch {
	case len(s.Members) == 0:
		return s.podName(roleAgent)
	case node != s.node.Name:
		return s.podName(roleAgent + "-on-" + node)
	}
	return "lockchaos-" + roleAgent + "-of-" + s.Members[0].pod.Namespace
}

// handover is what the agent has to know.
func (s *scenario) handover(pods map[string]corev1.Pod) (h handover, err error) {
	h = handover{On: s.node.Name, Handover: agent.Handover{Keys: s.Keys,
		Facts: append([]agent.Fact{{Name: "kubernetes", Version: s.Version},
			{Name: "kernel of " + s.node.Name, Version: s.node.Kernel}}, s.Facts...)}}
	if s.node.Kernel == "" {
		h.Facts = append(h.Facts[:1], s.Facts...)
	}
	if h.Build, err = build(); err != nil {
		return h, err
	}
	if h.Files, err = filesOf(s.Dir); err != nil {
		return h, err
	}
	for _, n := range s.Servers {
		at, err := handed(n.Name, pods[s.podName(n.Name)], main, true)
		if err != nil {
			return h, err
		}
		h.Nodes = append(h.Nodes, at)
	}
	for _, m := range s.Members {
		at, err := handed(m.Name, m.pod, m.container, false)
		if err != nil {
			return h, err
		}
		h.Nodes = append(h.Nodes, at)
	}
	for i := range s.Seats {
		at, err := handed("", pods[s.podName(fmt.Sprintf("seat-%d", i+1))], main, true)
		if err != nil {
			return h, err
		}
		h.Seats = append(h.Seats, at)
	}
	return h, nil
}

// handed is a container of a pod that runs, as an agent finds it.
func handed(name string, p corev1.Pod, container string, own bool) (n handedNode, err error) {
	n = handedNode{Name: name, Own: own, Pod: p.Name, Namespace: p.Namespace, Container: container, UID: string(p.UID),
		On: p.Spec.NodeName}
	if n.Addr, err = netip.ParseAddr(p.Status.PodIP); err != nil {
		return n, fmt.Errorf("pod %s has no address that can be read: %w", p.Name, err)
	}
	if n.ID, n.starts = startsOf(p, container); n.ID == "" {
		err = fmt.Errorf("container %s of pod %s does not run", container, p.Name)
	}
	return n, err
}
