package pick

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/scenarios"
)

const (
	// Random is the name of the suite whose scenarios are drawn from the seed.
	Random = "random"
	// AllLocks is the word for every lock that is not broken on purpose.
	AllLocks = "all"

	// randomDuration is the length of each drawn workload, where none is given.
	randomDuration = 10 * time.Second
)

// drawn is what is to be run, where all of it is drawn from the seed.
func (r Request) drawn(ctx context.Context) (Planned, error) {
	locks, err := r.randomLocks(ctx)
	if err != nil {
		return Planned{}, err
	}
	plans, err := r.draw(locks, r.Seed, r.Say)
	return Planned{Random, "faults drawn at random from the seed, mixed and combined, against each lock", plans,
		func(seed uint64) ([]scenarios.Plan, error) {
			return r.draw(locks, seed, func(string) {}) // what is left out has been told
		}}, err
}

// randomLocks are the locks for which scenarios are drawn, each with the faults that fit it here.
func (r Request) randomLocks(ctx context.Context) (all []scenarios.RandomLock, err error) {
	kinds, err := r.chosenLocks()
	if err != nil {
		return nil, exit.Misuse(err)
	}
	can := r.Means(ctx, r.Own.Given(), r.Say)
	if r.Own.Given() {
		lock, err := r.meet(ctx)
		if err != nil {
			return nil, err
		}
		return []scenarios.RandomLock{r.RandomLock(lock.Kind(), lock.Examinee().Undisturbed(), can)}, nil
	}
	suites, err := r.Tool.Suites()
	if err != nil {
		return nil, err
	}
	for _, k := range kinds {
		base, ok := scenarios.Undisturbed(suites, k.Name)
		why := errors.New("no suite has a scenario of it that could be disturbed")
		if ok {
			why = can.Startable(base, k.Service)
		}
		if why != nil {
			r.Say(fmt.Sprintf("%s is left out: %v", k.Name, why))
			continue
		}
		all = append(all, r.RandomLock(k, base, can))
	}
	return all, nil
}

// draw draws a scenario for each lock.
func (r Request) draw(locks []scenarios.RandomLock, seed uint64, say func(string)) (plans []scenarios.Plan, err error) {
	length := cmp.Or(r.Duration, randomDuration)
	for _, l := range locks {
		s := scenarios.Random(seed, l, scenarios.Duration(length))
		if len(s.Faults) == 0 {
			say(s.Lock + " is left out: none of the faults fits it here")
			continue
		}
		plans = append(plans, r.timed(scenarios.Plan{Seed: seed, Scenario: s}))
	}
	if len(plans) == 0 {
		return nil, errors.New("nothing is left to run")
	}
	return plans, nil
}

// RandomLock is a lock as the drawing sees it; can says what can be done here.
func (r Request) RandomLock(k clients.Kind, base scenarios.Scenario, can runtimes.Capabilities) scenarios.RandomLock {
	return scenarios.RandomLock{Nature: possible.Nature(k), Base: base, Together: possible.CheckTogether,
		Fits: can.Fitting(k.Service, func(one scenarios.Fault) error { return possible.CheckFault(k, one) })}
}

// chosenLocks are those that Locks names.
func (r Request) chosenLocks() (chosen []clients.Kind, err error) {
	if len(r.Locks) == 0 || slices.Equal(r.Locks, []string{AllLocks}) {
		return slices.DeleteFunc(r.Tool.Locks(), func(k clients.Kind) bool { return k.Control != "" || k.Claims.Job != "" }), nil
	}
	for _, word := range r.Locks {
		k, err := r.Tool.Lock(word)
		if err != nil {
			return nil, fmt.Errorf("--locks: %w%s; there are %s, and those of `lockchaos list locks`", err,
				spelling.Suggest(word, r.Tool.Catalogue().Locks), AllLocks)
		}
		if k.Claims.Job != "" {
			return nil, fmt.Errorf("--locks: %s is a scheduler, and no theory says what faults drawn at random do to one: lockchaos run jobs", k.Name)
		}
		if !slices.ContainsFunc(chosen, func(other clients.Kind) bool { return other.Name == k.Name }) {
			chosen = append(chosen, k)
		}
	}
	return chosen, nil
}
