package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/reports/terminal"
	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/pick"
	"github.com/lockchaos/lockchaos/scenarios"
)

// listScenarios lists the scenarios that fit a pattern ("": all) and the selection, suite by suite. Runs is where the latest run lies.
func listScenarios(w io.Writer, pattern string, only pick.Selection, out string) error {
	if err := only.Check(catalogue()); err != nil {
		return err
	}
	suites, err := suitesOf(only, out)
	if err != nil {
		return err
	}
	isSuite := slices.ContainsFunc(suites, func(s scenarios.Suite) bool { return s.Name == pattern })
	listed := 0
	for _, s := range suites {
		if isSuite && s.Name != pattern {
			continue
		}
		rows := [][]string{{"SCENARIO", "EXPECTED", "WHAT"}}
		for _, sc := range s.Scenarios {
			if only.Takes(sc) && (isSuite || matches(pattern, sc.Name)) {
				rows = append(rows, []string{sc.Name, sc.Expect.Word(), sc.About})
			}
		}
		if len(rows) == 1 {
			continue
		}
		if listed > 0 {
			harmless.Fprintln(w)
		}
		listed += len(rows) - 1
		harmless.Fprintf(w, "suite %s: %s\n\n", s.Name, s.About)
		if err := terminal.Table(w, rows); err != nil {
			return err
		}
	}
	if listed == 0 && !only.LastFailed {
		return exit.Misuse(fmt.Errorf("no scenario fits %q%s (all names: lockchaos list scenarios)", pattern, suggest(pattern, runs.Names(suites))))
	}
	_, err = io.WriteString(w, listEnd(pattern, only, listed))
	return err
}

// suitesOf are the built-in suites, or what failed in the latest run as one.
func suitesOf(only pick.Selection, out string) ([]scenarios.Suite, error) {
	if !only.LastFailed {
		return scenarios.Builtin(catalogue())
	}
	last, err := ours().LastFailed(out)
	if err != nil {
		return nil, err
	}
	suite := scenarios.Suite{Name: last.Run.Suite, About: fmt.Sprintf("%s that did not come out as they should", last.Title())}
	for _, p := range last.Plans {
		suite.Scenarios = append(suite.Scenarios, p.Scenario)
	}
	return []scenarios.Suite{suite}, nil
}

// listEnd says what the words of the list mean, and what to do with it.
func listEnd(pattern string, only pick.Selection, listed int) string {
	switch {
	case only.LastFailed && listed == 0:
		return "Nothing: all scenarios of the latest run came out as they should.\n"
	case only.LastFailed:
		return "\nRun them again: lockchaos run --last-failed\n"
	}
	end := "\nEXPECTED is what theory says of the lock under the fault; \"either\" where chance decides whether anything is violated (lockchaos explain WORD).\n"
	if pattern == "" {
		end += fmt.Sprintf("suite %s: drawn from the seed, one scenario for each lock: lockchaos run %s --seed 7\n", pick.Random, pick.Random)
	}
	return end
}
