package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/scenarios"
)

// recall finds what failed in the latest run, and takes over where and how it was run. Where nothing failed it says so.
func (f *runFlags) recall(cmd *cobra.Command, words []string) (err error) {
	if f.plan != "" || f.lockCmd != "" || len(f.locks) > 0 {
		return exit.Misuse(errors.New("--last-failed runs saved plans, which have their locks: give no --plan, --lock-cmd or --locks beside it"))
	}
	if f.last, err = ours().LastFailed(f.Out); err != nil {
		return err
	}
	if len(f.last.Plans) == 0 {
		harmless.Fprintf(cmd.OutOrStdout(), "Nothing is to be run: all %d scenarios of %s came out as they should.\n", f.last.Of, f.last.Dir)
		return nil
	}
	f.NoExpect = f.NoExpect || f.last.Run.NoExpect || f.last.Run.Policy != nil // as the run's own "again" says
	return f.sameWhere(cmd, f.last.Run)
}

// recalled are the plans of what failed, those that the words and flags leave of them, with the seed of this run.
func (f runFlags) recalled(words []string) (plans []scenarios.Plan, err error) {
	named, err := namedBy(words)
	if err != nil {
		return nil, err
	}
	for _, p := range f.last.Plans {
		if f.only.takes(p.Scenario) && named(p.Scenario.Name) {
			p.Seed = f.Seed
			plans = append(plans, f.timed(p))
		}
	}
	if len(plans) == 0 {
		return nil, exit.Misuse(fmt.Errorf("none of the %d scenarios that failed in %s is among those that are named", len(f.last.Plans), f.last.Dir))
	}
	return plans, nil
}

// namedBy returns a function that reports whether the words name a scenario; without words they name all. The suite random names
// what has been drawn: another draw would give other faults under the same name.
func namedBy(words []string) (func(name string) bool, error) {
	drawn := slices.Contains(words, randomSuite)
	words = slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word == randomSuite })
	names := map[string]bool{}
	if len(words) > 0 {
		c, err := choose(words)
		if err != nil {
			return nil, err
		}
		for _, s := range c.Scenarios {
			names[s.Name] = true
		}
	}
	return func(name string) bool {
		return !drawn && len(words) == 0 || names[name] || drawn && strings.HasPrefix(name, scenarios.RandomPrefix)
	}, nil
}
