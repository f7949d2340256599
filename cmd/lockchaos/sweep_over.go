package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/experiments"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// What can be varied.
const (
	overDuration = "duration"
	overOffset   = "offset"
)

// strikesPerRun is for how many strikes, one after the other, each run of a curve has time.
const strikesPerRun = 3

// overValues are the values of what is varied.
type overValues struct {
	what, text string
	all        []time.Duration
}

// parseOver reads "duration=0.5..3xTTL" or "offset=-250ms..2s", and spaces so many values evenly.
func parseOver(text string, ttl time.Duration, points int) (o overValues, err error) {
	what, span, named := strings.Cut(text, "=")
	low, high, two := strings.Cut(span, "..")
	if !named || !two || what != overDuration && what != overOffset {
		return o, fmt.Errorf("--over %q: what is varied, and from where to where, as in %s=0.5..3xTTL or %s=250ms..2s", text, overDuration, overOffset)
	}
	unit := time.Duration(0)
	for _, end := range []string{"xTTL", "×TTL", "*TTL"} {
		if cut, found := strings.CutSuffix(high, end); found {
			high, unit = cut, ttl
		}
		low = strings.TrimSuffix(low, end)
	}
	from, err := parseValue(low, unit)
	if err != nil {
		return o, fmt.Errorf("--over %q: %w", text, err)
	}
	to, err := parseValue(high, unit)
	if err != nil {
		return o, fmt.Errorf("--over %q: %w", text, err)
	}
	if from >= to || what == overDuration && from <= 0 {
		return o, fmt.Errorf("--over %q: from something longer than 0 to something longer", text)
	}
	o = overValues{what: what, text: text}
	for i := range points {
		v := from + time.Duration(float64(to-from)*float64(i)/float64(points-1))
		v = v.Round(100 * time.Microsecond)
		if v != 0 { // an offset of nothing is no fault
			o.all = append(o.all, v)
		}
	}
	return o, nil
}

// parseValue reads a number of units, or a duration where there is no unit.
func parseValue(text string, unit time.Duration) (time.Duration, error) {
	if unit == 0 {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration such as 500ms (or give both as numbers of TTLs: 0.5..3xTTL)", text)
		}
		return d, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v < -1e6 || v > 1e6 { // not a number fails both
		return 0, fmt.Errorf("%q is not a number of TTLs", text)
	}
	return time.Duration(v * float64(unit)), nil
}

// apply is the scenario with a value: its fault lasts so long, or its clock jumps so far, and the workload has time for some strikes.
func (o overValues) apply(s scenarios.Scenario, v time.Duration) scenarios.Scenario {
	f := s.Faults[0]
	if o.what == overDuration {
		f.For = scenarios.Duration(v)
	} else {
		f.By = scenarios.Offset(v)
	}
	s.Faults = []scenarios.Fault{f}
	round := f.For + f.Every.Max
	if o.what == overOffset { // who is let in by a clock that is ahead stays in for as long when it is set right
		round += scenarios.Duration(v.Abs())
	}
	if f.Every.Max > 0 {
		s.Duration = f.After + strikesPerRun*round + s.TTL
	}
	s.Quiet = 0
	s.Workload.AcquireTimeout = max(s.Workload.AcquireTimeout, 2*round+4*s.TTL)
	s.Workload.OpTimeout = max(s.Workload.OpTimeout, 2*f.For)
	return s
}

// base is the scenario that is varied: the one that is named, or one of --lock without faults, under --fault.
func (f *sweepFlags) base(args []string) (s scenarios.Scenario, err error) {
	if f.over == "" {
		f.over = overDuration + "=0.5..3xTTL"
		if f.fault == nemesis.KindClockJump {
			f.over = overOffset + "=0.5..3xTTL"
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
	return overValues{what: what}.apply(s, s.TTL.Std())
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
