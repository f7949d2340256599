package main

import (
	"errors"
	"fmt"

	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/scenarios"
)

// checkInherent refuses --inherent where something else says what is expected.
func (f runFlags) checkInherent(words []string) error {
	switch {
	case !f.inherent:
		return nil
	case f.NoExpect:
		return exit.Misuse(errors.New("--inherent says what is expected: give no --no-expect beside it"))
	case f.plan != "" || f.only.lastFailed:
		return exit.Misuse(errors.New("a saved plan has its expectation in it: give no --inherent beside --plan or --last-failed"))
	case f.random(words):
		return exit.Misuse(fmt.Errorf("suite %s expects what theory allows each lock under its faults: --inherent is for other suites", randomSuite))
	}
	return nil
}

// inherently is the scenario with what no lease prevents in the place of its expectation.
func inherently(s scenarios.Scenario) (scenarios.Scenario, error) {
	if s.Own() || s.External() {
		return s, exit.Misuse(fmt.Errorf("%s: --inherent rests on what the lock claims, which is known of lockchaos's locks and that of --lock-cmd; say in the scenario what is expected", s.Name))
	}
	kind, err := kindOf(&s)
	if err != nil {
		return s, err
	}
	s.Expect = harness.Nature(kind).Inherent(s.Store, s.Faults)
	return s, nil
}
