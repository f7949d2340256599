package director

import (
	"context"
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/nemesis"
)

// resolveRole is a fault of the strike with the leader, or the primary, of now in the
// place of that word. What strikes together means the same one.
func (d *Director) resolveRole(ctx context.Context, a *activeStrike, p nemesis.Part) (_ nemesis.Part, err error) {
	p.Spec, err = p.Answer(func() (string, error) {
		if a.leader == "" {
			a.leader, err = d.set.Leader(ctx)
		}
		return a.leader, err
	})
	return p, err
}

// victims finds the processes of the clients that were taken, or chooses the
// nodes. What strikes together strikes the same.
func (d *Director) victims(a *activeStrike, target nemesis.Target) (v nemesis.Victims, err error) {
	if target.Client() {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, c := range a.clients() {
			v.Clients = append(v.Clients, nemesis.Client{Number: c, Proc: d.procs[c], App: d.apps[c], Whole: d.set.Whole,
				Far: d.far[c].Far, Name: d.far[c].Name})
		}
		return v, nil
	}
	if a.nodes == nil {
		if a.nodes, err = target.Nodes(d.nodeNames(), a.draws); err != nil {
			return v, err
		}
	}
	for _, n := range d.set.Nodes {
		if slices.Contains(a.nodes, n.Name) {
			v.Nodes = append(v.Nodes, n)
		}
	}
	return v, nil
}

// effect puts a fault into effect.
func (d *Director) effect(ctx context.Context, a *activeStrike, p nemesis.Part, id int, v nemesis.Victims) (nemesis.InEffect,
	error) {
	means := nemesis.Resources{Net: d.set.Net, All: d.set.Nodes, Service: d.set.Service, NextGrant: d.nextGrant,
		Expire: d.set.Expire, FailOver: d.set.FailOver, Lease: d.ttl, Cluster: d.set.Cluster, CurrentRequest: d.traps.currentRequest}
	return d.set.Inject(ctx, nemesis.Site{Part: p, Victims: v, Resources: means, Tag: tag(id), Rand: a.draws})
}

// tag names a fault in the packet filters.
func tag(id int) string { return fmt.Sprintf("fault-%d", id) }

// touched says in the history whom a fault touches: the judge excuses nobody
// else, and holds nobody to a promise whom it touched.
func touched(info *history.FaultInfo, s nemesis.Spec, clients []int32) {
	touch := s.Touch()
	info.Touch, info.Links = &touch, s.OnLinks()
	info.Kept = s.Keeps() // such a plan has the nodes write down what they answer for
	if !s.Target.Client() {
		info.Service = true
		return
	}
	if touch.Stops == history.StopsApplication {
		return // an application that takes its time is no excuse for its lock, which goes on
	}
	if info.Links {
		info.Store = s.HitsStore()
	}
	if !s.OnLinks() || s.HitsLock() {
		info.Clients = clients
	}
}
