package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/history"
)

// Need is what a machine must be able to do for a fault.
type Need string

// The needs. Processes can be stopped and killed everywhere; for links the
// words are those of netfault.Probe.
const (
	NeedsNothing Need = "any runtime"
	NeedsLocal   Need = "runtime local" // servers that lockchaos itself started
	NeedsFilter  Need = "packet filter"
	// NeedsLocalFilter: both.
	NeedsLocalFilter Need = "runtime local, packet filter"
	NeedsQueue       Need = "packet queue"
	NeedsReset       Need = "connection reset"
	NeedsClocks      Need = "clocks of processes"
	NeedsCluster     Need = "runtime kubernetes, an application's own pods"
)

// Kind is one kind of fault, as one value. Its file defines it and injects it;
// the list below is all that else names it.
type Kind struct {
	Name, About string
	// Nodes reports whether it can strike nodes too, not only clients.
	Nodes bool
	// NodesOnly tells that it cannot strike clients.
	NodesOnly bool
	// Whole tells that it strikes the service as a whole, and nothing else.
	Whole bool
	// Ours tells that it is done to lockchaos's own clients and servers, and
	// that no application of the user's own can be struck by it.
	Ours  bool
	Needs Need
	// Touch is what it does to those whom it strikes, as a history records it
	// (Spec.Touch adds what the plan says).
	Touch history.Touch
	// alone tells that no other fault can strike together with it; single that
	// it strikes one client, not all of them; mayMiss that it may find nobody
	// to strike, so that nothing was done (ErrMissed).
	alone, single, mayMiss bool
	// ousts tells that what runs a client puts another one in its place,
	// which is another client.
	ousts bool
	// ofNode tells that it is done to the node of the cluster that a client is
	// on, and so to all clients there.
	ofNode bool
	// ownLength tells that it lasts as long as it takes, whatever a plan says.
	ownLength bool
	// lasts tells that it goes on though what it ends is over at once.
	lasts bool
	// takes are the fields of a Spec that it takes beside kind and aim.
	takes []string
	// check reports whether those make sense where the fault is to strike; nil:
	// there is nothing to say.
	check func(s Spec, at Setting) error
	// draws are the ways to draw it for a random scenario; none: it is not drawn.
	draws []Draw
	// endsSessions tells that it may end a connection or a session from
	// outside, and with it a grant that lasts as long.
	endsSessions bool
	// ready reports, before the run's workload begins, whether a client whose program is up can be
	// struck; nil: any can.
	ready func(ctx context.Context, c Client) error
	// inject puts it into effect.
	inject func(ctx context.Context, s *Site) (InEffect, error)
}

// kinds are all of them, in the order in which they are listed.
func kinds() []*Kind {
	return []*Kind{
		&pause,
		&kill,
		&killAtReply,
		&shutdown,
		&throttle,
		&failover,
		&stall,
		&renewerStall,
		&collect,
		&blockLoop,
		&crash,
		&refuseWrites,
		&partition,
		&clockJump,
		&clockRate,
		&clockStrobe,
		&delay,
		&loss,
		&duplicate,
		&reorder,
		&rate,
		&blackHole,
		&hold,
		&cut,
		&reset,
		&expireSession,
		&deletePod,
		&killPod,
		&evictPod,
		&drainNode,
		&cutNode,
		&stopKubelet,
	}
}

// Kinds lists every kind of fault.
func Kinds() (all []Kind) {
	for _, k := range kinds() {
		all = append(all, *k)
	}
	return all
}

// kindOf finds a kind by its name.
func kindOf(name string) (Kind, error) {
	for _, k := range kinds() {
		if k.Name == name {
			return *k, nil
		}
	}
	return Kind{}, fmt.Errorf("unknown fault %q", name)
}

// kind is that of the fault; an empty one where there is none of its name.
func (s Spec) kind() Kind {
	k, _ := kindOf(s.Kind)
	return k
}

// Targets says in words whom the kind can strike; TargetsLegend says what they mean.
func (k Kind) Targets() string {
	switch {
	case k.Whole:
		return "the service"
	case k.NodesOnly:
		return "nodes"
	case k.inside():
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
	return "clients: " + strings.Join(clients, ", ") +
		", one by its number (client-1)\nnodes: some by their names (redis-2 or redis-1,redis-2), nodes:3 (any number), minority, majority, leader, primary\nservice: all nodes, for a partition to split, or a failover\nat: " + strings.Join(moments, ", ")
}

// Check reports whether the fault can strike there.
func Check(s Spec, at Setting) error {
	k, err := kindOf(s.Kind)
	if err != nil {
		return err
	}
	if err := s.takesNot(k.takes); err != nil {
		return err
	}
	if s, err = s.withSampleNode(at.Nodes, at.Has); err != nil {
		return err
	}
	if err := k.aim(s.Aim, at.Nodes); err != nil {
		return err
	}
	if k.check == nil {
		return nil
	}
	return k.check(s, at)
}

// aim reports whether the kind can strike the target at the moment.
func (k Kind) aim(a Aim, nodes []string) error {
	switch {
	case a.Target == NextWaiter && a.When == Acquiring:
		return fmt.Errorf("a %s acquires already: strike it at %s, or at a step of the holder that it waits for, such as %s", a.Target, Random, BeforeRelease)
	case a.Target == AllClients && k.single:
		return fmt.Errorf("a %s strikes one client: target holder, next-waiter or random-client, not %q", k.Name,
			a.Target)
	case a.Target.Client():
		return nil
	}
	if _, err := a.Target.Nodes(nodes, rand.New(rand.NewPCG(0, 0))); err != nil {
		return err
	}
	if !k.Nodes {
		return fmt.Errorf("a %s strikes clients only: target holder, next-waiter, random-client or all-clients, not %q",
			k.Name, a.Target)
	}
	if a.Target == Service && !k.Whole && !slices.Contains(k.takes, "shape") {
		return fmt.Errorf("target %s is for a %s; all nodes are nodes:%d", Service, KindPartition, len(nodes))
	}
	return nil
}
