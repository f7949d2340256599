package simulated

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Check returns a function that returns an error if a scenario can't be run
// in virtual time, with a lock on the service.
func Check(service string) func(scenarios.Scenario) error {
	return func(sc scenarios.Scenario) error {
		if why := WhyNot(sc, service); why != "" {
			return errors.New(why)
		}
		return nil
	}
}

// WhyNot says why a scenario cannot be run in virtual time, with a lock on
// the service; "": it can.
func WhyNot(sc scenarios.Scenario, service string) string {
	_, ok := standInOf(service)
	switch {
	case !ok:
		return fmt.Sprintf("the simulation has the services redis, redis-five and etcd, and no %s",
			cmp.Or(service, scenarios.NoService))
	case sc.Store.Guarded():
		return "a guarded store needs a real etcd"
	case slices.Contains([]string{"payment", "relay", "stampede", "job", history.WorkloadTransaction}, sc.Workload.Kind):
		return fmt.Sprintf("the simulation has no workload %s", sc.Workload.Kind)
	}
	for _, f := range possible.Singles(scenarios.Plan{Scenario: sc}) {
		if why := WhyNotFault(f.Spec()); why != "" {
			return why
		}
	}
	return ""
}

// WhyNotFault says why a fault does not exist in virtual time; "": it does.
func WhyNotFault(f nemesis.Spec) string {
	if injectors[f.Kind] == nil {
		return fmt.Sprintf("the simulation has no %s", f.Kind)
	}
	if f.Kind == nemesis.KindCut && (f.Silent || f.Point == nemesis.AfterReply) {
		return "the simulation cuts with a reset, before or after a request takes effect, and not otherwise"
	}
	return ""
}
