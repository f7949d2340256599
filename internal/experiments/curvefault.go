package experiments

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// CurveFault is a lock under one fault, of which a curve is measured.
type CurveFault struct {
	// Lock is the lock's name, and Fault the kind of the fault.
	Lock, Fault string
	// Target is whom it strikes, When the step, and Clock, of a clock-jump,
	// which clock; "": as usual.
	Target, When, Clock string
	// Over is what is varied, as ParseValues reads it; "": from 0.5 to 3 TTLs.
	Over string
}

// Base returns the scenario that is varied, and its values: the one scenario
// that the names mean, or, without names, one of the lock without faults, under
// the fault. points is how many values there are. Its errors are the user's.
func (k CurveFault) Base(tool *runs.Tool, names []string, points int) (s scenarios.Scenario, v Values, err error) {
	if k.Over == "" {
		k.Over = OverDuration + "=0.5..3xTTL"
		if k.Fault == nemesis.KindClockJump {
			k.Over = OverOffset + "=0.5..3xTTL"
		}
	}
	if len(names) > 0 {
		s, err = k.named(tool, names)
	} else {
		s, err = k.made(tool)
	}
	if err != nil {
		return s, v, err
	}
	if v, err = ParseValues(k.Over, s.TTL.Std(), points); err != nil || len(names) > 0 {
		return s, v, err
	}
	// with some value, to see whether the rest fits
	if err := Runnable(tool.Catalogue(), v.Apply(s, s.TTL.Std())); err != nil {
		return s, v, fmt.Errorf("this fault does not fit: %w", err)
	}
	return s, v, nil
}

// made is the lock under the fault.
func (k CurveFault) made(tool *runs.Tool) (s scenarios.Scenario, err error) {
	if k.Lock == "" {
		return s, errors.New("which lock? --lock redis-setnx, or a scenario with one fault")
	}
	if _, err := tool.Lock(k.Lock); err != nil {
		return s, fmt.Errorf("%w%s", err, spelling.Suggest(k.Lock, tool.Catalogue().Locks))
	}
	suites, err := tool.Suites()
	if err != nil {
		return s, err
	}
	s, ok := scenarios.Undisturbed(suites, k.Lock)
	if !ok {
		return s, fmt.Errorf("no suite has a scenario of %s that could be disturbed: name one", k.Lock)
	}
	f := scenarios.Fault{Kind: k.Fault, Target: "holder", When: "between-read-and-write",
		After: scenarios.Duration(100 * time.Millisecond),
		Every: scenarios.Range{Min: s.TTL / 5, Max: 2 * s.TTL / 5}}
	if k.Fault == nemesis.KindClockJump {
		// Its holder works for a while, so that there is somebody whose lock
		// can be lost; the clock is wrong for as long.
		f.Target, f.When, f.Clock, f.For = "nodes:1", "after-grant", k.Clock, s.TTL/2
		s.Workload.Think = scenarios.Range{Min: s.TTL / 5, Max: s.TTL / 5}
	}
	f.Target, f.When = cmp.Or(k.Target, f.Target), cmp.Or(k.When, f.When)
	s.Faults = []scenarios.Fault{f}
	s.Name = "sweep/" + s.Lock + "/" + k.Fault
	s.About, s.Expect = "one point of a safety curve", scenarios.Expect{}
	s.Needs.Bites = 1
	return s, nil
}

// named is the one scenario that the names mean.
func (k CurveFault) named(tool *runs.Tool, names []string) (s scenarios.Scenario, err error) {
	if k.Lock != "" {
		return s, errors.New("--lock and --fault make a scenario: give no other beside them")
	}
	c, err := tool.Choose(names, true) // the runtime is chosen later, and refuses what it has not
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
	if k.Target != "" || k.When != "" {
		return s, errors.New("--target and --when are for the fault of --fault: the scenario has its own")
	}
	return s, nil
}
