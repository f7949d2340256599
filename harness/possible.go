package harness

import (
	"errors"
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// CheckFault tells whether the fault can strike its target where the lock is used.
func CheckFault(lock clients.Kind, f scenarios.Fault) error {
	service, _ := backends.Lookup(lock.Service)
	var names []string
	for _, n := range service.Nodes {
		names = append(names, n.Name)
	}
	spec := FaultSpec(f)
	if err := nemesis.Check(spec, names, traits(lock.Service)...); err != nil {
		return err
	}
	if spec.Kind == nemesis.KindCrash && spec.Data == nemesis.DataLost && !service.Forgets {
		return fmt.Errorf("data %s: a node of %s has written down what it answers for before it answers; only a Redis loses all", nemesis.DataLost, service.Name)
	}
	if spec.Kind == nemesis.KindFailover && !service.Promotes() {
		return fmt.Errorf("a %s needs a service with a replica that is promoted, redis-failover; %s has none", spec.Kind, lock.Service)
	}
	if spec.Kind == nemesis.KindRenewerStall && !lock.Renews {
		return fmt.Errorf("a %s needs a lock that renews by itself, and whose renewals lockchaos can hold up; %s is none", spec.Kind, lock.Name)
	}
	if spec.Kind == nemesis.KindExpireSession && service.MustBeTold() && lock.TellsNoSession {
		return fmt.Errorf("an %s at %s needs the number of the session, which an adapter has no way to tell", spec.Kind, service.Name)
	}
	return nil
}

// singles are the single faults of a plan.
func singles(p scenarios.Plan) (all []scenarios.Fault) {
	for _, f := range p.Scenario.Faults {
		all = append(all, f.Singles()...)
	}
	return all
}

// durable tells whether the plan's faults ask that nodes keep their data when they are killed.
func durable(p scenarios.Plan) bool {
	return slices.ContainsFunc(singles(p), func(f scenarios.Fault) bool {
		return f.Kind == nemesis.KindCrash && nemesis.Data(f.Data) != nemesis.DataLost
	})
}

// ErrGuests: the plan has a fault that nodes can only bear that lockchaos itself has started.
var ErrGuests = errors.New("nodes are started again, which lockchaos can do to those only that it started itself: --runtime local")

// GuestsBear returns an error that is ErrGuests if the plan has a fault that nodes can't bear that somebody else started, in containers say.
func GuestsBear(p scenarios.Plan) error {
	for _, f := range singles(p) {
		if f.Kind == nemesis.KindCrash || f.Kind == nemesis.KindFailover {
			return fmt.Errorf("%s: %w", f.Kind, ErrGuests)
		}
	}
	return nil
}

// possible tells whether the plan's faults can strike in this run.
func (r *run) possible() error {
	for i, f := range r.cfg.Plan.Scenario.Faults {
		for _, single := range f.Singles() {
			if err := CheckFault(r.cfg.Lock, single); err != nil {
				return fmt.Errorf("fault %d of %s: %w", i, r.cfg.Plan.Scenario.Name, err)
			}
		}
	}
	if len(r.cfg.Attached) > 0 {
		return GuestsBear(r.cfg.Plan)
	}
	return nil
}
