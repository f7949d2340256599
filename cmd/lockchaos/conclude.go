package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/reports"
)

// conclude prints the matrix and where the report is, and returns the run's exit status as an error.
func conclude(out io.Writer, dir string, suite reports.Suite, noExpect, interrupted bool) error {
	s := newScreen(out)
	if err := reports.Matrix(out, suite, s.color, s.width); err != nil {
		return fmt.Errorf("print the matrix: %w", err)
	}
	harmless.Fprintln(out)
	for _, sc := range suite.Scenarios {
		tellInherent(out, sc)
		if scenarioStatus(sc, noExpect) != exitOK && sc.Failed == "" && sc.Skipped == "" {
			harmless.Fprintf(out, "%s: seed %d, plan %s\n  again: %s\n", sc.Name, sc.Seed, there(filepath.Join(dir, sc.Dir, planFile)), sc.Rerun)
		}
	}
	concludeFailed(out, dir, suite.FailedAlike())
	page := filepath.Join(dir, indexFile)
	if len(suite.Scenarios) == 1 {
		page = filepath.Join(dir, suite.Scenarios[0].Dir, reportFile)
	}
	harmless.Fprintf(out, "report: %s\n", there(page))
	if interrupted {
		return &status{exitFailed, fmt.Errorf("interrupted: the report holds what there is")}
	}
	if code := suiteStatus(suite, noExpect); code != exitOK {
		return &status{code: code}
	}
	return nil
}

// concludeFailed tells each cause of failures once, in full, with where to look.
func concludeFailed(out io.Writer, dir string, groups [][]reports.Scenario) {
	for _, group := range groups {
		sc := group[0]
		harmless.Fprintf(out, "%s: seed %d, plan %s\n  again: %s\n", sc.Name, sc.Seed, there(filepath.Join(dir, sc.Dir, planFile)), sc.Rerun)
		harmless.Fprintf(out, "%s failed: %s\n  logs of %s: %s\n", sc.Name, harmless.Block(sc.Failed, "  "), sc.Name, there(filepath.Join(dir, sc.Dir, logFolder)))
		if n := len(group) - 1; n > 0 {
			harmless.Fprintf(out, "  and %d more scenario%s for the same reason: logs in %s\n", n, plural(n), filepath.Join(dir, "*", logFolder))
		}
	}
}

// suiteStatus is the exit status of a run: the worst of its scenarios.
func suiteStatus(suite reports.Suite, noExpect bool) int {
	code := exitOK
	for _, sc := range suite.Scenarios {
		code = worse(code, scenarioStatus(sc, noExpect))
	}
	return code
}

// scenarioStatus is the exit status that one scenario alone would give. What did not meet its expectation because it could not be
// decided is inconclusive; a violation that did not come is as bad as one that did.
func scenarioStatus(sc reports.Scenario, noExpect bool) int {
	switch {
	case sc.Failed != "":
		return exitFailed
	case sc.Skipped != "" && sc.Demanded && !sc.Lenient:
		return exitInconclusive
	case sc.Skipped != "":
		return exitOK // said aloud in the matrix, and never counted as a pass
	case noExpect:
		return outcomeStatus(sc.Verdict.Outcome)
	case sc.Met:
		return exitOK
	case sc.Lenient && sc.Undecided():
		return exitOK // said aloud, as the policy wants it
	}
	if sc.Undecided() {
		return exitInconclusive
	}
	return exitViolated
}
