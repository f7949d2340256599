// Package possible says what may be run before it is: whether a fault can strike where a lock is
// used, or an application of the user's own; what a machine can do; what scenarios may refer to.
package possible

import (
	"errors"
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// CheckFault reports whether the fault can strike its target where the lock is used.
func CheckFault(lock clients.Kind, f scenarios.Fault) error {
	if lock.EachCall && clockOfClient(f) {
		return errors.New("each of its calls is a process of its own, and a fault changes the clocks of processes that run")
	}
	service, _ := backends.Lookup(lock.Service)
	if f.Kind == nemesis.KindCrash && lock.Writes == "guarded" && len(service.Nodes) == 1 {
		return errors.New("a guarded store lies on the only node of the service, and its ledger can't be read while that is down")
	}
	names := lock.Members
	if names == nil {
		for _, n := range service.Nodes {
			names = append(names, n.Name)
		}
	}
	return nemesis.Check(f.Spec(), nemesis.Setting{Lock: lock.Name, Service: lock.Service, Nodes: names,
		Has: traits(lock)})
}

// MayFailOver returns the lock as one whose service fails over where it runs already, by a command
// of the user's, if the service is of a kind that can.
func MayFailOver(lock clients.Kind) clients.Kind {
	service, _ := backends.Lookup(lock.Service)
	lock.FailsOver = service.Shards
	return lock
}

// CheckOurs is CheckFault for a service that lockchaos may start. The runtime says whether it can
// have it fail over.
func CheckOurs(lock clients.Kind, f scenarios.Fault) error { return CheckFault(MayFailOver(lock), f) }

// CheckSomewhere reports whether there is a service, of the lock's kind, where the fault can strike
// its target. The runtime knows which service there is.
func CheckSomewhere(lock clients.Kind, f scenarios.Fault) error {
	lock = MayFailOver(lock)
	err := CheckFault(lock, f)
	if service, _ := backends.Lookup(lock.Service); err == nil || !service.Clusters {
		return err
	}
	if CheckFault(Vast(lock), f) == nil {
		return nil
	}
	return err
}

// Vast returns the lock on a cluster as large as one may be.
func Vast(lock clients.Kind) clients.Kind {
	service, _ := backends.Lookup(lock.Service)
	lock.Members = service.Numbered(mostMembers)
	return lock
}

// mostMembers bounds the nodes of a cluster (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/).
const mostMembers = 1000

// Singles are the single faults of a plan.
func Singles(p scenarios.Plan) (all []scenarios.Fault) {
	for _, f := range p.Scenario.Faults {
		all = append(all, f.Singles()...)
	}
	return all
}

// Durable reports whether the plan's faults ask that nodes keep their data when they are killed.
func Durable(p scenarios.Plan) bool {
	return slices.ContainsFunc(Singles(p), func(f scenarios.Fault) bool {
		return f.Spec().Keeps()
	})
}

// refuses reports whether the plan's faults have nodes refuse writes.
func refuses(p scenarios.Plan) bool {
	return slices.ContainsFunc(Singles(p), func(f scenarios.Fault) bool { return f.Kind == nemesis.KindRefuseWrites })
}

// ErrGuests: the plan has a fault that nodes can only bear that lockchaos itself has started.
var ErrGuests = errors.New("only servers that lockchaos itself has started are started again, or made to refuse writes: --runtime local")

// GuestsBear returns an error that is ErrGuests if the plan has a fault that
// nodes can't bear that somebody else started, in containers say. failOver: these fail over by a
// command of the user's.
func GuestsBear(p scenarios.Plan, failOver bool) error {
	for _, f := range Singles(p) {
		if f.Spec().NeedsLocal() && (f.Kind != nemesis.KindFailover || !failOver) {
			return fmt.Errorf("%s: %w", f.Kind, ErrGuests)
		}
	}
	return nil
}

// NoCluster returns an error if the plan has a fault of what only a cluster runs.
func NoCluster(p scenarios.Plan) error {
	for _, f := range Singles(p) {
		if f.Spec().NeedsCluster() {
			return fmt.Errorf("%s: pods are what it strikes: --runtime kubernetes", f.Kind)
		}
	}
	return nil
}
