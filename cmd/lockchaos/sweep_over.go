package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/experiments"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// base is the scenario that is varied: the one that is named, or one of --lock without faults, under --fault.
func (f *sweepFlags) base(args []string) (s scenarios.Scenario, err error) {
	if f.over == "" {
		f.over = experiments.OverDuration + "=0.5..3xTTL"
		if f.fault == nemesis.KindClockJump {
			f.over = experiments.OverOffset + "=0.5..3xTTL"
		}
	}
	if len(args) > 0 {
		return f.named(args)
	}
	if f.lock == "" {
		return s, errors.New("which lock? --lock redis-setnx, or a scenario with one fault")
	}
	if _, err := lockKind(f.lock); err != nil {
		return s, fmt.Errorf("%w%s", err, suggest(f.lock, catalogue().Locks))
	}
	suites, err := scenarios.Builtin(catalogue())
	if err != nil {
		return s, err
	}
	s, ok := undisturbed(suites, f.lock)
	if !ok {
		return s, fmt.Errorf("no suite has a scenario of %s that could be disturbed: name one", f.lock)
	}
	s.Faults = []scenarios.Fault{f.template(&s)}
	s.Name = "sweep/" + s.Lock + "/" + f.fault
	s.About, s.Expect = "one point of a safety curve", scenarios.Expect{}
	s.Needs.Bites = 1
	if err := experiments.Runnable(catalogue(), f.probe(s)); err != nil {
		return s, fmt.Errorf("this fault does not fit: %w", err)
	}
	return s, nil
}

// template is the fault of --fault, but for what is varied.
func (f *sweepFlags) template(s *scenarios.Scenario) scenarios.Fault {
	out := scenarios.Fault{Kind: f.fault, Target: "holder", When: "between-read-and-write", After: scenarios.Duration(100 * time.Millisecond),
		Every: scenarios.Range{Min: s.TTL / 5, Max: 2 * s.TTL / 5}}
	if f.fault == nemesis.KindClockJump {
		// Its holder works for a while, so that there is somebody whose lock can be lost; the clock is wrong for as long.
		out.Target, out.When, out.Clock, out.For = "nodes:1", "after-grant", f.clock, s.TTL/2
		s.Workload.Think = scenarios.Range{Min: s.TTL / 5, Max: s.TTL / 5}
	}
	if f.target != "" {
		out.Target = f.target
	}
	if f.when != "" {
		out.When = f.when
	}
	return out
}

// probe is the scenario with some value, to see whether the rest of it fits.
func (f *sweepFlags) probe(s scenarios.Scenario) scenarios.Scenario {
	what, _, _ := strings.Cut(f.over, "=")
	return experiments.Values{What: what}.Apply(s, s.TTL.Std())
}

// named is the one scenario that the words name.
func (f *sweepFlags) named(args []string) (s scenarios.Scenario, err error) {
	if f.lock != "" {
		return s, errors.New("--lock and --fault make a scenario: give no other beside them")
	}
	c, err := choose(args)
	if err != nil {
		return s, err
	}
	if len(c.Scenarios) != 1 {
		return s, fmt.Errorf("%d scenarios are named: a curve is of one", len(c.Scenarios))
	}
	s = c.Scenarios[0]
	if len(s.Faults) != 1 || len(s.Faults[0].Parts()) > 0 {
		return s, fmt.Errorf("%s has %d faults, or a combination: a curve varies one", s.Name, len(s.Faults))
	}
	if f.target != "" || f.when != "" {
		return s, errors.New("--target and --when are for the fault of --fault: the scenario has its own")
	}
	return s, nil
}
