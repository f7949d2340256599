package nemesis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// The kinds of faults.
const (
	KindPause        = "pause"
	KindKill         = "kill"
	KindCrash        = "crash-restart"
	KindThrottle     = "throttle"
	KindFailover     = "failover"
	KindStall        = "stall"
	KindRenewerStall = "renewer-stall"
	KindPartition    = "partition"
	KindClockJump    = "clock-jump"
	KindClockRate    = "clock-rate"
	KindClockStrobe  = "clock-strobe"
)

// Need is what a machine must be able to do for a fault.
type Need string

// The needs. Processes can be stopped and killed everywhere; for links the words are those of netfault.Probe.
const (
	NeedsNothing Need = "any runtime"
	NeedsLocal   Need = "runtime local" // servers that lockchaos itself started
	NeedsFilter  Need = "packet filter"
	// NeedsLocalFilter: both.
	NeedsLocalFilter Need = "runtime local, packet filter"
	NeedsQueue       Need = "packet queue"
	NeedsReset       Need = "connection reset"
	NeedsClocks      Need = "clocks of processes"
)

// Kind is what there is to know of one kind of fault before it is injected.
type Kind struct {
	Name, About string
	// Nodes tells whether it can strike nodes too, not only clients.
	Nodes bool
	// NodesOnly tells that it cannot strike clients.
	NodesOnly bool
	// Whole tells that it strikes the service as a whole, and nothing else.
	Whole bool
	Needs Need
	// stops tells that processes are stopped while it lasts; alone that no other fault can strike together with it; single that it strikes one client,
	// not all of them.
	stops, alone, single bool
	// takes are the fields of a Spec that it takes beside kind and aim.
	takes []string
	// traits are what the lock service must have.
	traits []Trait
	// check tells whether those make sense; nil: there is nothing to say.
	check func(s Spec, nodes []string) error
}

// Kinds lists every kind of fault.
func Kinds() []Kind {
	return slices.Concat([]Kind{
		{Name: KindPause, Nodes: true, Needs: NeedsNothing, stops: true, About: "stops every thread of a client's process group, or of all that runs on a node's host (SIGSTOP), " +
			"as a stop-the-world collection or a suspended virtual machine does"},
		{Name: KindKill, Needs: NeedsNothing, alone: true, About: "kills a client's process group (SIGKILL); a fresh process takes its place"},
		{Name: KindThrottle, Nodes: true, Needs: NeedsNothing, stops: true, takes: []string{"share", "period"}, check: checkThrottle,
			About: "lets a client or all that runs on a node's host have only a share of the time: it is stopped for the rest of each period (SIGSTOP)"},
		{Name: KindFailover, Nodes: true, NodesOnly: true, Whole: true, Needs: NeedsLocalFilter, alone: true, check: checkFailover,
			About: "kills a primary that has granted a lock of which its replica has not heard, and waits for the promotion; for redis-failover"},
		{Name: KindStall, Needs: NeedsNothing, alone: true, single: true, check: checkStall,
			About: "holds up the application of a client, and nothing else in its process: what the lock renews by itself is renewed"},
		{Name: KindRenewerStall, Needs: NeedsNothing, alone: true, single: true, check: checkStall,
			About: "holds up the renewals that a client's lock makes by itself, while the application goes on; for locks that renew so"},
		{Name: KindCrash, Nodes: true, NodesOnly: true, Needs: NeedsLocal, alone: true, takes: []string{"data"}, check: checkCrash,
			About: "kills the servers of nodes (SIGKILL) and starts them again on the same host, with their data or, as a Redis without a file, without"},
		{Name: KindPartition, Nodes: true, Needs: NeedsFilter, takes: []string{"peers", "way", "shape"}, check: checkPartition,
			About: "cuts a client or nodes from their peers, both ways or one, or splits the service into a shape: every packet between them is dropped"},
		{Name: KindClockJump, Nodes: true, Needs: NeedsClocks, takes: []string{"clock", "by"}, check: checkClock,
			About: "moves the wall clock, forward or back, or the monotonic clock, forward, that a client or a node's processes read"},
		{Name: KindClockRate, Nodes: true, Needs: NeedsClocks, takes: []string{"clock", "rate"}, check: checkClock,
			About: "lets the wall clock or the monotonic clock that a client or a node's processes read run faster or slower"},
		{Name: KindClockStrobe, Nodes: true, Needs: NeedsClocks, takes: []string{"clock", "by", "period"}, check: checkClock,
			About: "lets the wall clock that a client or a node's processes read jump to and fro"},
	}, degradeKinds(), []Kind{hold, cut, reset, expireSession})
}

// kindOf finds a kind by its name.
func kindOf(name string) (Kind, error) {
	i := slices.IndexFunc(Kinds(), func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, fmt.Errorf("unknown fault %q", name)
	}
	return Kinds()[i], nil
}

// Targets says in words whom the kind can strike; TargetsLegend says what they mean.
func (k Kind) Targets() string {
	switch {
	case k.Whole:
		return "the service"
	case k.NodesOnly:
		return "nodes"
	case (Spec{Kind: k.Name}).Inside():
		return "the holder"
	case k.single:
		return "a client"
	case k.Nodes:
		return "clients, nodes"
	}
	return "clients"
}

// TargetsLegend lists whom and when a fault can be aimed at.
func TargetsLegend() string {
	var clients, moments []string
	for _, t := range clientTargets {
		clients = append(clients, string(t))
	}
	for _, m := range Moments() {
		moments = append(moments, string(m))
	}
	return "clients: " + strings.Join(clients, ", ") + "\nnodes: one by its name (redis-2), nodes:3 (any number), minority, majority, leader, primary\nservice: all nodes, for a partition to split, or a failover\nat: " + strings.Join(moments, ", ")
}

// Check tells whether the fault can strike, if these are the names of the lock service's nodes and what else it has.
func Check(s Spec, nodes []string, has ...Trait) error {
	k, err := kindOf(s.Kind)
	if err != nil {
		return err
	}
	for _, t := range k.traits {
		if !slices.Contains(has, t) {
			return fmt.Errorf("%s needs a lock service that has %s", s.Kind, t)
		}
	}
	if err := s.takesNot(k.takes); err != nil {
		return err
	}
	if s, err = s.sampled(nodes, has); err != nil {
		return err
	}
	if err := k.aim(s.Aim, nodes); err != nil {
		return err
	}
	if k.check == nil {
		return nil
	}
	return k.check(s, nodes)
}

// aim tells whether the kind can strike the target at the moment.
func (k Kind) aim(a Aim, nodes []string) error {
	switch {
	case a.Target == NextWaiter && a.When == Acquiring:
		return fmt.Errorf("a %s acquires already: strike it at %s, or at a step of the holder that it waits for, such as %s", a.Target, Random, BeforeRelease)
	case a.Target == AllClients && k.single:
		return fmt.Errorf("a %s strikes one client: target holder, next-waiter or random-client, not %q", k.Name, a.Target)
	case a.Target.Client():
		return nil
	}
	if _, err := a.Target.Nodes(nodes, rand.New(rand.NewPCG(0, 0))); err != nil {
		return err
	}
	if !k.Nodes {
		return fmt.Errorf("a %s strikes clients only: target holder, next-waiter, random-client or all-clients, not %q", k.Name, a.Target)
	}
	if a.Target == Service && !k.Whole && !slices.Contains(k.takes, "shape") {
		return fmt.Errorf("target %s is for a %s; all nodes are nodes:%d", Service, KindPartition, len(nodes))
	}
	return nil
}
