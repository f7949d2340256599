package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/scenarios"
)

// failedRun is what did not come out as it should in the latest run.
type failedRun struct {
	dir   string
	run   *runRecord // the first of its repetitions
	plans []scenarios.Plan
	of    int // scenarios of the run
}

// lastFailed reads the latest run of a folder, with all its repetitions. A scenario counts once, with the plan of its first failure.
func lastFailed(parent string) (*failedRun, error) {
	dir, err := filepath.EvalSymlinks(filepath.Join(parent, latestLink))
	if err != nil {
		return nil, exit.Misuse(fmt.Errorf("--last-failed: there is no latest run in %s (--out names another folder): %w", parent, err))
	}
	last := &failedRun{dir: dir}
	folders, err := repetitionsIn(dir)
	if err != nil {
		return nil, exit.Misuse(err)
	}
	seen := map[string]bool{}
	for _, folder := range folders {
		run, err := loadRun(folder)
		if err != nil {
			return nil, exit.Misuse(err)
		}
		if last.run == nil {
			last.run = run
		}
		for _, r := range run.Scenarios {
			if !seen[r.Name] {
				seen[r.Name] = true
				last.of++
			}
			if err := last.add(folder, r, run); err != nil {
				return nil, exit.Misuse(fmt.Errorf("--last-failed: %w", err))
			}
		}
	}
	return last, nil
}

// title names the run for its report.
func (l *failedRun) title() string {
	return fmt.Sprintf("%d of %d scenarios of %s", len(l.plans), l.of, filepath.Base(l.dir))
}

// recall finds what failed in the latest run, and takes over where and how it was run. Where nothing failed it says so.
func (f *runFlags) recall(cmd *cobra.Command, words []string) (err error) {
	if f.plan != "" || f.lockCmd != "" || len(f.locks) > 0 {
		return exit.Misuse(errors.New("--last-failed runs saved plans, which have their locks: give no --plan, --lock-cmd or --locks beside it"))
	}
	if f.last, err = lastFailed(f.out); err != nil {
		return err
	}
	if len(f.last.plans) == 0 {
		harmless.Fprintf(cmd.OutOrStdout(), "Nothing is to be run: all %d scenarios of %s came out as they should.\n", f.last.of, f.last.dir)
		return nil
	}
	f.noExpect = f.noExpect || f.last.run.NoExpect || f.last.run.Policy != nil // as the run's own "again" says
	return f.sameWhere(cmd, f.last.run)
}

// recalled are the plans of what failed, those that the words and flags leave of them, with the seed of this run.
func (f runFlags) recalled(words []string) (plans []scenarios.Plan, err error) {
	named, err := f.last.named(words)
	if err != nil {
		return nil, err
	}
	for _, p := range f.last.plans {
		if f.only.takes(p.Scenario) && named(p.Scenario.Name) {
			p.Seed = f.seed
			plans = append(plans, f.timed(p))
		}
	}
	if len(plans) == 0 {
		return nil, exit.Misuse(fmt.Errorf("none of the %d scenarios that failed in %s is among those that are named", len(f.last.plans), f.last.dir))
	}
	return plans, nil
}

// named returns a function that reports whether the words name a scenario; without words they name all. The suite random names
// what has been drawn: another draw would give other faults under the same name.
func (l *failedRun) named(words []string) (func(name string) bool, error) {
	drawn := slices.Contains(words, randomSuite)
	words = slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word == randomSuite })
	names := map[string]bool{}
	if len(words) > 0 {
		c, err := choose(words)
		if err != nil {
			return nil, err
		}
		for _, s := range c.scenarios {
			names[s.Name] = true
		}
	}
	return func(name string) bool {
		return !drawn && len(words) == 0 || names[name] || drawn && strings.HasPrefix(name, scenarios.RandomPrefix)
	}, nil
}

// repetitionsIn are the folders of the runs that a run's folder holds: itself, or its repetitions.
func repetitionsIn(dir string) (folders []string, err error) {
	var runs []reports.RepeatedRun
	if isGate(dir) {
		ruling, err := reports.ReadGate(filepath.Join(dir, gateFile))
		if err != nil {
			return nil, err
		}
		runs = ruling.Runs
	} else if table, err := loadRepetition(dir); err != nil {
		return nil, err
	} else if table != nil {
		runs = table.Runs
	}
	for _, r := range runs {
		folders = append(folders, filepath.Join(dir, filepath.FromSlash(r.Dir)))
	}
	if len(folders) == 0 {
		folders = []string{dir}
	}
	return folders, nil
}

func (l *failedRun) add(folder string, r scenarioRecord, run *runRecord) error {
	if slices.ContainsFunc(l.plans, func(p scenarios.Plan) bool { return p.Scenario.Name == r.Name }) || !cameOutWrong(filepath.Join(folder, r.Dir), run) {
		return nil
	}
	plan, err := scenarios.LoadPlan(filepath.Join(folder, r.Dir, planFile), catalogue())
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s was never begun: run it by its name (%w)", r.Name, err)
	}
	if err == nil {
		l.plans = append(l.plans, *plan)
	}
	return err
}

// cameOutWrong reports whether a scenario's folder shows other than what was expected. One that has no verdict never ended.
func cameOutWrong(folder string, run *runRecord) bool {
	var v struct {
		Result   reports.Result `json:"result"`
		Met      bool           `json:"met"`
		Demanded bool           `json:"demanded"`
	}
	if reports.ReadRecord(filepath.Join(folder, verdictFile), &v) != nil {
		return true
	}
	switch {
	case v.Result == reports.Failed:
		return true
	case v.Result == reports.Skipped:
		return v.Demanded
	case run.NoExpect:
		return v.Result != reports.Pass
	}
	return !v.Met
}
