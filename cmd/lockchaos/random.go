package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/hosts/docker"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/runtimes"
	"github.com/lockchaos/lockchaos/scenarios"
)

// randomSuite is the name of the suite whose scenarios are drawn from the seed.
const randomSuite = "random"

// randomDuration is the length of each of its workloads, where none is given.
const randomDuration = 10 * time.Second

// allLocks is the word of --locks for every lock that is not broken on purpose.
const allLocks = "all"

// draw is the locks for which a seed draws scenarios, each with the faults that fit it here.
type draw struct {
	flags runFlags
	locks []scenarios.RandomLock
}

// newDraw looks which locks are asked for. say tells aloud what is left out, and why.
func newDraw(ctx context.Context, f runFlags, say func(string)) (*draw, error) {
	d := &draw{flags: f}
	kinds, err := chosenLocks(f.locks)
	if err != nil {
		return nil, exit.Misuse(err)
	}
	can, err := possibleFaults(ctx, f, say)
	if err != nil {
		return nil, err
	}
	if f.lockCmd != "" {
		own, err := f.meet(ctx, say)
		if err != nil {
			return nil, err
		}
		d.locks = append(d.locks, f.randomLock(own.kind(), own.examinee().Undisturbed(), can))
		return d, nil
	}
	suites, err := scenarios.Builtin(catalogue())
	if err != nil {
		return nil, err
	}
	lacking := missingServices(ctx, f)
	for _, k := range kinds {
		base, ok := undisturbed(suites, k.Name)
		if why := lacking(k.Service); why != "" || !ok {
			if !ok {
				why = "no suite has a scenario of it that could be disturbed"
			}
			say(fmt.Sprintf("%s is left out: %s", k.Name, why))
			continue
		}
		d.locks = append(d.locks, f.randomLock(k, base, can))
	}
	return d, nil
}

// plans draws a scenario for each lock.
func (d *draw) plans(seed uint64, say func(string)) (plans []scenarios.Plan, err error) {
	length := randomDuration
	if d.flags.duration > 0 {
		length = d.flags.duration
	}
	for _, l := range d.locks {
		s := scenarios.Random(seed, l, scenarios.Duration(length))
		if len(s.Faults) == 0 {
			say(s.Lock + " is left out: none of the faults fits it here")
			continue
		}
		plans = append(plans, d.flags.timed(scenarios.Plan{Seed: seed, Scenario: s}))
	}
	if len(plans) == 0 {
		return nil, errors.New("nothing is left to run")
	}
	return plans, nil
}

// randomLock is a lock as the drawing sees it; can tells which kinds of faults the machine can do.
func (f runFlags) randomLock(k clients.Kind, base scenarios.Scenario, can map[string]bool) scenarios.RandomLock {
	return scenarios.RandomLock{Nature: harness.Nature(k), Base: base, Together: harness.CheckTogether,
		Fits: f.fitting(can, func(one scenarios.Fault) error { return harness.CheckFault(k, one) })}
}

// fitting reports why a fault is not for this machine and runtime, nor for the lock, as fits has it; nil: it is.
func (f runFlags) fitting(can map[string]bool, fits func(scenarios.Fault) error) func(scenarios.Fault) error {
	return func(one scenarios.Fault) error {
		if !can[one.Kind] {
			return errors.New("this machine cannot do it")
		}
		if why := runtimes.OutOfReach(one); why != "" && f.Runtime == runtimes.External {
			return errors.New(why)
		}
		return fits(one)
	}
}

// chosenLocks are those that --locks names.
func chosenLocks(words []string) (chosen []clients.Kind, err error) {
	if len(words) == 0 || slices.Equal(words, []string{allLocks}) {
		return slices.DeleteFunc(locks(), func(k clients.Kind) bool { return k.Control != "" }), nil
	}
	for _, word := range words {
		k, err := lockKind(word)
		if err != nil {
			return nil, fmt.Errorf("--locks: %w%s; there are %s, and those of `lockchaos list locks`", err, suggest(word, catalogue().Locks), allLocks)
		}
		if !slices.ContainsFunc(chosen, func(other clients.Kind) bool { return other.Name == k.Name }) {
			chosen = append(chosen, k)
		}
	}
	return chosen, nil
}

// baseSuite has an undisturbed scenario of every lock that is not broken on purpose, made for no special fault.
const baseSuite = "full"

// undisturbed is a scenario of the lock without faults: a control of a suite, or else another one with its faults taken away.
func undisturbed(suites []scenarios.Suite, lock string) (base scenarios.Scenario, ok bool) {
	slices.SortStableFunc(suites, func(a, b scenarios.Suite) int {
		if (a.Name == baseSuite) == (b.Name == baseSuite) {
			return 0
		}
		if a.Name == baseSuite {
			return -1
		}
		return 1
	})
	for _, disturbed := range []bool{false, true} {
		for _, suite := range suites {
			for _, s := range suite.Scenarios {
				// The requests that a stampede counts are those of an undisturbed service.
				if s.Lock == lock && (len(s.Faults) > 0) == disturbed && s.Workload.Kind != "stampede" {
					s.Faults = nil
					return s, true
				}
			}
		}
	}
	return scenarios.Scenario{}, false
}

// possibleFaults are the kinds of faults that this machine can do in the runtime.
func possibleFaults(ctx context.Context, f runFlags, say func(string)) (map[string]bool, error) {
	here := f.Here()
	if f.Runtime == runtimes.Auto && f.lockCmd != "" {
		here = true // its programs are on this machine
	} else if f.Runtime == runtimes.Auto {
		_, err := docker.Connect(ctx)
		var absent *docker.AbsentError
		here = errors.As(err, &absent)
	}
	tried := tryFaults(ctx)
	can := map[string]bool{}
	without := map[string][]string{} // why → kinds
	for _, k := range nemesis.Kinds() {
		why := ""
		if answer := tried(k.Needs); answer != yes {
			why = strings.TrimPrefix(answer, no)
		}
		if !here && (k.Needs == nemesis.NeedsLocal || k.Needs == nemesis.NeedsLocalFilter) {
			why = "only servers that lockchaos itself has started can be started again (--runtime local)"
		}
		can[k.Name] = why == ""
		if why != "" {
			without[why] = append(without[why], k.Name)
		}
	}
	for _, k := range nemesis.Kinds() { // in the order of the kinds, each reason once
		for why, names := range without {
			if names[0] == k.Name {
				say(fmt.Sprintf("without %s: %s", strings.Join(names, ", "), why))
			}
		}
	}
	return can, nil
}

// missingServices tells why a service can't be started here; "": it can. In containers its programs are in the images, elsewhere it runs.
func missingServices(ctx context.Context, f runFlags) func(service string) string {
	if f.Runtime == runtimes.Docker || f.Runtime == runtimes.Compose || f.Runtime == runtimes.External {
		return func(string) string { return "" }
	}
	missing := map[string]string{}
	for _, k := range backends.Kinds() {
		missing[k.Name] = k.Missing(ctx)
	}
	return func(service string) string { return missing[service] }
}
