package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/scenarios"
)

// allowedByFlag says who allows what no lease prevents.
const allowedByFlag = ", allowed by --inherent"

// checkInherent refuses --inherent where something else says what is expected.
func (f runFlags) checkInherent(words []string) error {
	switch {
	case !f.inherent:
		return nil
	case f.noExpect:
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

// inherentWords say of an expectation why it is met though it is violated.
func inherentWords(c scenarios.Compared, by string) string {
	if !c.Inherent {
		return ""
	}
	return scenarios.InherentWords + by
}

// tellInherent tells what was violated and is allowed, since no lease prevents it. Beside a defect that is not certain: the defect may
// have brought it about.
func tellInherent(out io.Writer, sc reports.Scenario) {
	if !sc.Met {
		return
	}
	var names []string
	for _, e := range sc.Expect {
		if strings.HasSuffix(e.Known, allowedByFlag) {
			names = append(names, e.Property)
		}
	}
	if len(names) > 0 {
		harmless.Fprintf(out, "%s: %s: %s%s\n", sc.Name, strings.Join(names, ", "), scenarios.InherentWords, allowedByFlag)
	}
}
