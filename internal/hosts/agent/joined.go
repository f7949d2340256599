package agent

import (
	"context"
	"errors"
	"net/netip"

	"github.com/lockchaos/lockchaos/internal/hosts"
)

// Fact is one thing that only outer knows, for the history's header: a name and a version.
type Fact struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Handover is what every agent is told. Runtimes embed it, beside their own nodes.
type Handover struct {
	Facts []Fact `json:"facts"`
	// Keys begins the names of locks where the service is not fresh.
	Keys string `json:"keys,omitempty"`
}

// Attached is a node that runs already. Its log is in the folder for logs, as NAME.log.
type Attached struct {
	Name    string
	Host    *hosts.Host
	Process *hosts.Process
	// Own: the node ends with the agent.
	Own bool
	// On is the node of the cluster on which it is, where that is another one: then it has no host
	// here, but an address.
	On   string
	Addr netip.Addr
}

// Change is what has become of a client of an application: it is to end, or another has come in its
// place. Who comes is another client: the one before may still run.
type Change struct {
	// Client is the one that is to end, or in whose place another comes.
	Client string
	// Comes is who takes its place; nil: it is to end. One that has ended already has no host, only
	// a log.
	Comes *Attached
}

// Joined is where an agent finds itself.
type Joined struct {
	Network *hosts.Network
	Nodes   []Attached
	Handover
}

// Close takes our hosts off the network, and kills the nodes that are ours to end.
func (j *Joined) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), Grace)
	defer cancel()
	var errs []error
	if j.Network != nil {
		errs = append(errs, j.Network.Close())
	}
	for _, n := range j.Nodes {
		if n.Own {
			errs = append(errs, n.Process.Kill(ctx))
		}
		if n.Host != nil {
			errs = append(errs, n.Host.Close())
		}
	}
	return errors.Join(errs...)
}
