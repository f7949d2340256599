package nemesis

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/hosts"
)

// Site is where a fault is injected: whom it strikes, and what the run lends it.
type Site struct {
	Part
	Victims
	Resources
	// Tag names the fault in the packet filters.
	Tag string
	// Rand are its own random numbers.
	Rand *rand.Rand
}

// Resources are what a run lends its faults.
type Resources struct {
	Net *Net
	// All are the nodes of the lock service.
	All []Place
	// Service is the lock service, for faults that ask who is its primary.
	Service Replicated
	// NextGrant waits for a grant that is asked for from now on; 0: there will be none.
	NextGrant func(context.Context) int64
	// FailOver has a service of the user's fail over, and returns when that is done or given up;
	// nil: the service is lockchaos's own.
	FailOver func(context.Context) (TriggeredFailover, error)
	// Expire ends the sessions of the client that is at the address.
	Expire func(ctx context.Context, client int32, at netip.Addr) (ended []string, err error)
	// Lease is for how long the lock's grants are good, as it was asked for.
	Lease time.Duration
	// Cluster runs the application's pods; nil where there is none.
	Cluster Cluster
	// CurrentRequest returns what tells a trap what the client is being asked.
	CurrentRequest func(client int32) CurrentRequest
}

// Victims are those whom a fault strikes: clients, or nodes.
type Victims struct {
	Clients []Client // none: nodes are struck
	Nodes   []Place
}

// Client is a client with its process.
type Client struct {
	Number int32
	Proc   *hosts.Process
	// App is its program, as far as it is held up from inside.
	App Application
	// Whole: all that runs on its host is meant, and not one process group.
	Whole bool
	// Far is the agent of the machine that it is on, where that is another
	// one, and Name what it is called where there is no process here.
	Far  RemoteAgent
	Name string
}

// name is what the client's host is called.
func (c Client) name() string {
	if c.Proc == nil {
		return c.Name
	}
	return c.Proc.Host().Name
}

// Inject puts a fault into effect. One that lasts goes on until it is healed.
func Inject(ctx context.Context, s Site) (InEffect, error) {
	k, err := kindOf(s.Kind)
	if err != nil {
		return nil, err
	}
	if !k.ousts && s.onOtherMachines() {
		return s.injectOnMachines(ctx, k)
	}
	return k.inject(ctx, &s)
}

// Touch is what the fault does to those whom it strikes.
func (s Spec) Touch() history.Touch {
	t := s.kind().Touch
	t.Clock, t.Strobes = string(s.Clock), s.Clock != "" && s.Period != 0
	return t
}

// Keeps reports whether the fault is a crash after which servers know all that
// they had answered for.
func (s Spec) Keeps() bool { return s.kind().Touch.Ends == history.EndsServer && s.Data != DataLost }

// subject is whose clocks a fault changes, or whom it throttles.
func (c Client) subject() subject {
	h := c.Proc.Host()
	if c.Whole {
		return subject{Name: h.Name, PIDs: h.PIDs, Stop: h.Stop}
	}
	return subject{Name: h.Name, PIDs: c.Proc.Group, Stop: c.Proc.Stop}
}

// procs are the clients' processes.
func (s Victims) procs() (all []*hosts.Process) {
	for _, c := range s.Clients {
		all = append(all, c.Proc)
	}
	return all
}

// hosts are those on which all that runs is struck.
func (s Victims) hosts() (all []*hosts.Host) {
	for _, c := range s.Clients {
		all = append(all, c.Proc.Host())
	}
	for _, n := range s.Nodes {
		all = append(all, n.Host)
	}
	return all
}

// Names are those of the hosts.
func (s Victims) Names() (names []string) {
	for _, c := range s.Clients {
		names = append(names, c.name())
	}
	for _, n := range s.Nodes {
		names = append(names, n.Name)
	}
	return names
}

// subjects are those whose clocks a fault changes, or whom it throttles.
func (s Victims) subjects() (all []subject) {
	for _, c := range s.Clients {
		all = append(all, c.subject())
	}
	for _, n := range s.Nodes {
		all = append(all, subject{Name: n.Name, PIDs: n.Host.PIDs, Stop: n.Host.Stop})
	}
	return all
}

// Instantaneous is a fault that is over when it has begun: there is nothing to undo.
type Instantaneous struct{ effect Effect }

// From is the beginning of what was done.
func (o *Instantaneous) From() int64 { return o.effect.From }

// Heal tells what was done.
func (o *Instantaneous) Heal() (Effect, error) { return o.effect, nil }
