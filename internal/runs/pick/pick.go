// Package pick turns what a user asks for into plans: scenarios by their names, a saved plan, what
// failed in the latest run, faults drawn at random, every attack on a lock, what a policy wants. A
// lock of the user's own (package own) can take the place of built-in ones. What is left out, and
// why, is told to Say.
package pick

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/own"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Request is what is to be run, how, and where.
type Request struct {
	runs.Settings
	runtimes.Where
	// Names are suites, scenarios, beginnings of their names, or files; none: the suite quick. The
	// name Random alone means a suite that is drawn from the seed.
	Names []string
	// Plan is the file of a saved plan, which is run instead.
	Plan string
	// Locks are those for which the suite Random is drawn: names, or AllLocks
	// (as if there were none).
	Locks []string
	Only  Selection
	// Last is what failed in the latest run; it is run again, as far as Names and Only take it.
	Last *runs.FailedRun
	// Since is an earlier run: what came out as it should there, and has not changed, is left out.
	Since *runs.EarlierRun
	// Own is a lock of the user's own, which takes the place of the scenarios' locks.
	Own own.Program
	// Duration is the length of each workload; 0: the scenario's own. Real: with the times of
	// production.
	Duration time.Duration
	Real     bool
	// Inherent: what no lease prevents is expected of every lock, in the place
	// of what the scenarios expect.
	Inherent bool
	// Short and Attacks leave some of the attacks of an exam: the most telling, or these.
	Short   bool
	Attacks []string
	// Budget is how long an exam may take: of the attacks the most telling ones
	// are made. 0: all are.
	Budget time.Duration
	Say    func(string)
}

// Planned is what is to be run.
type Planned struct {
	Name, About string
	Plans       []scenarios.Plan
	// Draw makes the plans of another seed.
	Draw func(seed uint64) ([]scenarios.Plan, error)
}

// fixed is what is to be run, where nothing but the seed of its plans changes.
func fixed(name, about string, plans []scenarios.Plan) Planned {
	return Planned{name, about, plans, func(seed uint64) ([]scenarios.Plan, error) {
		again := slices.Clone(plans)
		for i := range again {
			again[i].Seed = seed
		}
		return again, nil
	}}
}

// Random reports whether the suite is wanted that is drawn from the seed.
func (r Request) Random() bool {
	return r.Plan == "" && !r.Only.LastFailed && slices.Equal(r.Names, []string{Random})
}

// Plans makes the plans.
func (r Request) Plans(ctx context.Context) (Planned, error) {
	switch {
	case r.Last != nil:
		plans, err := r.recalled()
		return fixed(r.Last.Title(), "what did not come out as it should", plans), err
	case r.Plan != "":
		p, err := scenarios.LoadPlan(r.Plan, r.Tool.Catalogue())
		if err != nil {
			return Planned{}, exit.Misuse(err)
		}
		return fixed(p.Scenario.Name, p.Scenario.About, []scenarios.Plan{r.timed(*p)}), nil
	case r.Random():
		return r.drawn(ctx)
	}
	c, err := r.named(ctx)
	if err != nil {
		return Planned{}, err
	}
	var plans []scenarios.Plan
	for _, s := range c.Scenarios {
		plans = append(plans, r.timed(scenarios.Plan{Seed: r.Seed, Scenario: s}))
	}
	if r.Since != nil {
		all := len(plans)
		plans = r.Since.Changed(plans)
		r.Say(r.Since.Left(all, len(plans)))
	}
	return fixed(c.Name, c.About, plans), nil
}

// named are the scenarios that are named, with what is expected of them here.
func (r Request) named(ctx context.Context) (c runs.Choice, err error) {
	if c, err = r.Tool.Choose(r.Names, r.Runtime == runtimes.External); err != nil {
		return c, err
	}
	if c.Scenarios, err = r.Only.of(c.Scenarios); err != nil {
		return c, err
	}
	kindOf := r.inherentKind
	if r.Own.Given() {
		lock, err := r.meet(ctx)
		if err != nil {
			return c, err
		}
		if c, err = lock.Replace(c, r.Tool, r.Say); err != nil {
			return c, err
		}
		kindOf = func(scenarios.Scenario) (clients.Kind, error) { return lock.Kind(), nil }
	}
	if !r.Inherent {
		return c, nil
	}
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		kind, err := kindOf(*s)
		if err != nil {
			return c, err
		}
		s.Expect = possible.Nature(kind).Inherent(s.Store, s.Faults)
	}
	return c, nil
}

// meet starts the lock of the user's own once, and tells what it declares.
func (r Request) meet(ctx context.Context) (*own.Lock, error) {
	lock, err := r.Own.Meet(ctx, r.Where, func(name string) bool {
		_, err := r.Tool.Lock(name)
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	if lease := lock.Says.Lease; r.Real && lease != 0 && lease < scenarios.RealTTL.Std() {
		return nil, exit.Misuse(fmt.Errorf("--scale real takes a lease of %v or longer, and that of the lock is %v and can't be set (lease_ms in its hello): leave --scale out", scenarios.RealTTL.Std(), lease))
	}
	r.Say(lock.String())
	return lock, nil
}

// timed sets a plan's times as they are wanted.
func (r Request) timed(p scenarios.Plan) scenarios.Plan {
	if r.Real {
		p = p.Real()
	}
	if r.Duration > 0 {
		p.Scenario.Duration, p.Scenario.Enough = scenarios.Duration(r.Duration), 0
	}
	return p
}

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
		return nil, exit.Misuse(fmt.Errorf("none of the %d scenarios that failed in %s is among those that are named",
			len(r.Last.Plans), r.Last.Dir))
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
		c, err := r.Tool.Choose(words, r.Runtime == runtimes.External)
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
