package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

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
func (t *tool) lastFailed(parent string) (*failedRun, error) {
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
			if err := last.add(t, folder, r, run); err != nil {
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

func (l *failedRun) add(t *tool, folder string, r scenarioRecord, run *runRecord) error {
	if slices.ContainsFunc(l.plans, func(p scenarios.Plan) bool { return p.Scenario.Name == r.Name }) || !cameOutWrong(filepath.Join(folder, r.Dir), run) {
		return nil
	}
	plan, err := scenarios.LoadPlan(filepath.Join(folder, r.Dir, planFile), t.catalogue())
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
