package experiments

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/harness"
	"github.com/lockchaos/lockchaos/internal/harness/simulated"
	"github.com/lockchaos/lockchaos/scenarios"
)

// stamp is what the plans of this search are simulated with.
func (x *Exploring) stamp(steady []string) scenarios.Simulation {
	return scenarios.Simulation{Program: x.program.Hash, Simulator: harness.SimulatorHash(), Steady: steady}
}

// settle has as much of the schedule no longer drawn as still shows the
// property. It returns the plan and how many candidates were tried.
func (x *Exploring) settle(ctx context.Context, plan scenarios.Plan, property string) (_ scenarios.Plan, tried int,
	err error) {
	stamp := x.stamp(nil)
	plan.Simulation = &stamp
	err = takeMost(simulated.Draws(plan, x.Lock.Adapter.Service), func(names []string) (bool, error) {
		if ctx.Err() != nil {
			return false, nil
		}
		tried++
		candidate, stamp := plan, x.stamp(slices.Concat(plan.Simulation.Steady, names))
		candidate.Simulation = &stamp
		seed, shows, err := x.shows(ctx, candidate, property)
		if shows {
			plan, plan.Seed = candidate, seed
			x.Out.Say(fmt.Sprintf("%6.1f s  nothing drawn for %s: still violated", time.Since(x.began).Seconds(),
				firstNames(names)))
		}
		return shows, err
	})
	return plan, tried, err
}

// takeMost offers all of the names at once, or halves of them, down to single ones,
// until each was taken or was refused alone.
func takeMost(names []string, take func([]string) (bool, error)) error {
	taken, err := take(names)
	if taken || err != nil || len(names) <= 1 {
		return err
	}
	half := len(names) / 2
	if err := takeMost(names[:half], take); err != nil {
		return err
	}
	return takeMost(names[half:], take)
}

// drawn says in words what the scheduler still draws.
func (x *Exploring) drawn(plan scenarios.Plan) string {
	left := slices.DeleteFunc(simulated.Draws(plan, x.Lock.Adapter.Service),
		func(name string) bool { return slices.Contains(plan.Simulation.Steady, name) })
	if len(left) == 0 {
		return "the scheduler draws nothing: latencies and turns do not matter"
	}
	return "the scheduler still draws for " + firstNames(left)
}

// firstNames names some of many.
func firstNames(names []string) string {
	const told = 6
	if len(names) > told {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:told], ", "), len(names)-told)
	}
	return strings.Join(names, ", ")
}
