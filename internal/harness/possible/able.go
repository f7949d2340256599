package possible

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Incapable says why this machine can't do a plan's faults, and what to do; "":
// it can. The same is said of every plan with the same need. Able is asked for
// what nemesis.UnmetNeeds returns when a fault first needs something.
func Incapable(p scenarios.Plan, able func() func(nemesis.Need) string) string {
	for _, k := range nemesis.Kinds() {
		needs := slices.ContainsFunc(p.Scenario.Faults, func(f scenarios.Fault) bool {
			return slices.ContainsFunc(f.Singles(), func(one scenarios.Fault) bool { return one.Kind == k.Name })
		})
		if !needs || k.Needs == nemesis.NeedsNothing || k.Needs == nemesis.NeedsLocal {
			continue
		}
		if why := able()(k.Needs); why != "" {
			return fmt.Sprintf("%s: %s", k.Needs, why)
		}
	}
	return ""
}

// Services are those that a scenario needs: its lock's (service), and its
// store's engine where that is a server of its own.
func Services(service string, store scenarios.Store) (all []backends.Kind) {
	if k, ok := backends.Lookup(service); ok {
		all = append(all, k)
	}
	// A guarded store lies in the lock's own service.
	if k, ok := backends.Lookup(store.EngineName()); ok && !store.Guarded() {
		all = append(all, k.WithPrefix(backends.StorePrefix))
	}
	return all
}

// Startable returns nil if this machine can start what a plan needs of services, as its faults
// need it. service is that of the plan's lock. What is missing is told by a *backends.Lack.
func Startable(p scenarios.Plan, service string) error {
	for i, k := range Services(service, p.Scenario.Store) {
		ofLock := i == 0 && k.Name == service
		err := k.Startable(ofLock && Durable(p))
		if err == nil && ofLock && refuses(p) {
			err = k.Refusable()
		}
		if err != nil {
			return fmt.Errorf("service %s: %w", k.Name, err)
		}
	}
	return nil
}
