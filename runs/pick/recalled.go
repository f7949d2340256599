package pick

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/scenarios"
)

// recalled are the plans of what failed in the latest run, as far as it is named and selected, with
// the seed of this run.
func (r Request) recalled() (plans []scenarios.Plan, err error) {
	named, err := r.namesWhat()
	if err != nil {
		return nil, err
	}
	for _, p := range r.Last.Plans {
		if r.Only.Takes(p.Scenario) && named(p.Scenario) {
			p.Seed = r.Seed
			plans = append(plans, r.timed(p))
		}
	}
	if len(plans) == 0 {
		return nil, exit.Misuse(fmt.Errorf("none of the %d scenarios that failed in %s is among those that are named", len(r.Last.Plans), r.Last.Dir))
	}
	return plans, nil
}

// namesWhat returns a function that reports whether a scenario is named; without names all are. The
// suite Random names what has been drawn: another draw would give other faults under the same name.
func (r Request) namesWhat() (func(scenarios.Scenario) bool, error) {
	drawn := slices.Contains(r.Names, Random)
	words := slices.DeleteFunc(slices.Clone(r.Names), func(word string) bool { return word == Random })
	names := map[string]bool{}
	if len(words) > 0 {
		c, err := r.Tool.Choose(words)
		if err != nil {
			return nil, err
		}
		for _, s := range c.Scenarios {
			names[s.Name] = true
		}
	}
	return func(s scenarios.Scenario) bool {
		return len(r.Names) == 0 || names[s.Name] || drawn && s.Drawn()
	}, nil
}

// inherentKind is the lock of a scenario, whose claims say what no lease prevents.
func (r Request) inherentKind(s scenarios.Scenario) (clients.Kind, error) {
	if s.Own() || s.External() {
		return clients.Kind{}, exit.Misuse(fmt.Errorf("%s: --inherent rests on what the lock claims, which is known of lockchaos's locks and that of --lock-cmd; say in the scenario what is expected", s.Name))
	}
	return r.Tool.KindOf(&s)
}
