package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// RemoteAgent is the agent of another machine, which injects what strikes hosts there.
// Its stamps are brought to this machine's clock, and mean what is certain.
type RemoteAgent interface {
	// Inject puts a fault into effect on hosts of that machine.
	Inject(ctx context.Context, p Part, tag string, names []string) (InEffect, error)
	// Emptied waits until no process lives on one of its hosts.
	Emptied(ctx context.Context, name string) error
}

// onOtherMachines reports whether some of those who are struck are on other machines.
func (s Victims) onOtherMachines() bool {
	return slices.ContainsFunc(s.Clients, func(c Client) bool { return c.Far != nil }) ||
		slices.ContainsFunc(s.Nodes, func(n Place) bool { return n.Far != nil })
}

// byMachine are those who are struck here, and the names of those on other
// machines, in the order in which these come.
func (s Victims) byMachine() (here Victims, there []RemoteAgent, names map[RemoteAgent][]string) {
	names = map[RemoteAgent][]string{}
	add := func(at RemoteAgent, name string) {
		if names[at] == nil {
			there = append(there, at)
		}
		names[at] = append(names[at], name)
	}
	for _, c := range s.Clients {
		if c.Far != nil {
			add(c.Far, c.Name)
		} else {
			here.Clients = append(here.Clients, c)
		}
	}
	for _, n := range s.Nodes {
		if n.Far != nil {
			add(n.Far, n.Name)
		} else {
			here.Nodes = append(here.Nodes, n)
		}
	}
	return here, there, names
}

// OnMachines is a fault that is in effect on several machines, or on another one.
type OnMachines []InEffect

// injectOnMachines injects the fault on each machine on which it strikes somebody. If
// one of them fails, it is healed on all.
func (s *Site) injectOnMachines(ctx context.Context, k Kind) (InEffect, error) {
	if s.Target == Service {
		return nil, fmt.Errorf("a %s of the service as a whole, which is on several nodes of the cluster: %w", s.Kind,
			ErrMissed)
	}
	here, there, names := s.byMachine()
	var all OnMachines
	fail := func(err error) (InEffect, error) {
		if len(all) > 0 {
			_, healed := all.Heal()
			err = errors.Join(err, healed)
		}
		return nil, err
	}
	if len(here.Clients)+len(here.Nodes) > 0 {
		near := *s
		near.Victims = here
		one, err := k.inject(ctx, &near)
		if err != nil {
			return fail(err)
		}
		all = append(all, one)
	}
	for _, at := range there {
		one, err := at.Inject(ctx, s.Part, s.Tag, names[at])
		if err != nil {
			return fail(err)
		}
		all = append(all, one)
	}
	return all, nil
}

// From is since when it is in effect everywhere.
func (e OnMachines) From() (from int64) {
	for _, one := range e {
		from = max(from, one.From())
	}
	return from
}

// Heal ends it everywhere. What it did is what is certain of all.
func (e OnMachines) Heal() (all Effect, err error) {
	all = Effect{From: e.From(), Bit: true}
	var proofs []string
	var errs []error
	for _, one := range e {
		effect, err := one.Heal()
		errs = append(errs, err)
		all.From, all.Bit = max(all.From, effect.From), all.Bit && effect.Bit
		if all.To == 0 || effect.To < all.To {
			all.To = effect.To
		}
		proofs = append(proofs, effect.Proof)
	}
	all.To = max(all.To, all.From)
	all.Proof = strings.Join(proofs, "; ")
	return all, errors.Join(errs...)
}
