package simulated

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Draws names what the scheduler draws in a plan's simulation, part by part: the order of events of
// one instant ("ties"), how long a client's host takes to run its program ("client-1"), how long
// segments are on their way between two hosts ("client-1-redis-1"). service is the lock's.
func Draws(p scenarios.Plan, service string) []string {
	all := []string{sim.TieDraws}
	kind, _ := backends.Lookup(service)
	for i := range p.Scenario.Clients + record.ProbeClients {
		client := fmt.Sprintf("client-%d", i+1)
		all = append(all, sim.HostDraws(client))
		for _, n := range kind.Nodes {
			all = append(all, sim.LinkDraws(client, n.Name))
		}
		all = append(all, sim.LinkDraws(client, StoreHost))
	}
	return all
}

// steady has the scheduler draw only what the plan leaves to it.
func (s *simulation) steady() error {
	if s.cfg.Plan.Simulation == nil {
		return nil
	}
	known := Draws(s.cfg.Plan, s.cfg.Lock.Service)
	for _, name := range s.cfg.Plan.Simulation.Steady {
		if !slices.Contains(known, name) {
			return fmt.Errorf("simulation.steady: nothing is drawn for %q%s (there are %s)", name,
				spelling.Suggest(name, known), strings.Join(known, ", "))
		}
	}
	s.w.Steady(s.cfg.Plan.Simulation.Steady...)
	if !slices.ContainsFunc(known, func(name string) bool { return !slices.Contains(s.cfg.Plan.Simulation.Steady, name) }) {
		s.w.Repeats()
	} else if s.cfg.Plan.Simulation.Order != nil {
		return errors.New("simulation.order: it needs a run in which nothing is drawn (simulation.steady)")
	}
	return nil
}

// reorder has the events of an instant come in the plan's order. The workload starts now.
func (s *simulation) reorder() {
	if plan := s.cfg.Plan.Simulation; plan != nil && plan.Order != nil {
		s.w.Reorder(sim.Order{At: s.w.Now() + int64(plan.Order.At), Events: plan.Order.Events})
	}
}
