package runs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/lockchaos/lockchaos/internal/outside"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// FailedRun is what did not come out as it should in the latest run.
type FailedRun struct {
	Dir   string
	Run   *Record // the first of its repetitions
	Plans []scenarios.Plan
	Of    int // scenarios of the run
}

// LastFailed reads the latest run of a folder, with all its repetitions. A
// scenario counts once, with the plan of its first failure.
func (t *Tool) LastFailed(parent string) (*FailedRun, error) {
	dir, err := filepath.EvalSymlinks(filepath.Join(parent, LatestLink))
	if err != nil {
		return nil, exit.Misuse(fmt.Errorf("--last-failed: there is no latest run in %s (--out names another folder): %w", parent, err))
	}
	last := &FailedRun{Dir: dir}
	folders, err := RepetitionsIn(dir)
	if err != nil {
		return nil, exit.Misuse(err)
	}
	seen := map[string]bool{}
	for _, folder := range folders {
		run, err := Load(folder)
		if err != nil {
			return nil, exit.Misuse(err)
		}
		if last.Run == nil {
			last.Run = run
		}
		for _, r := range run.Scenarios {
			if !seen[r.Name] {
				seen[r.Name] = true
				last.Of++
			}
			if err := last.add(t, folder, r, run); err != nil {
				return nil, exit.Misuse(fmt.Errorf("--last-failed: %w", err))
			}
		}
	}
	return last, nil
}

// Title names the run for its report.
func (l *FailedRun) Title() string {
	return fmt.Sprintf("%d of %d scenarios of %s", len(l.Plans), l.Of, filepath.Base(l.Dir))
}

// RepetitionsIn are the folders of the runs that a run's folder holds: itself, or its repetitions.
func RepetitionsIn(dir string) (folders []string, err error) {
	var runs []reports.RepeatedRun
	if IsGate(dir) {
		ruling, err := reports.ReadGate(dir, GateFile)
		if err != nil {
			return nil, err
		}
		runs = ruling.Runs
	} else if table, err := LoadRepetition(dir); err != nil {
		return nil, err
	} else if table != nil {
		runs = table.Runs
	}
	for _, r := range runs {
		folder, err := outside.Folder(dir, filepath.FromSlash(r.Dir))
		if err != nil {
			return nil, fmt.Errorf("find a repetition: %w", err)
		}
		folders = append(folders, folder)
	}
	if len(folders) == 0 {
		folders = []string{dir}
	}
	return folders, nil
}

func (l *FailedRun) add(t *Tool, folder string, r ScenarioRecord, run *Record) error {
	if slices.ContainsFunc(l.Plans, func(p scenarios.Plan) bool { return p.Scenario.Name == r.Name }) ||
		!cameOutWrong(folder, r, run) {
		return nil
	}
	plan, err := scenarios.LoadPlanIn(folder, filepath.Join(r.Dir, PlanFile), t.Catalogue())
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s was never begun: run it by its name (%w)", r.Name, err)
	}
	if err == nil {
		l.Plans = append(l.Plans, *plan)
	}
	return err
}

// cameOutWrong reports whether what a scenario left in the run's folder shows
// other than what was expected. One that has no verdict never ended.
func cameOutWrong(folder string, r ScenarioRecord, run *Record) bool {
	var v struct {
		Result   reports.Result `json:"result"`
		Met      bool           `json:"met"`
		Demanded bool           `json:"demanded"`
	}
	if reports.ReadRecord(folder, filepath.Join(r.Dir, VerdictFile), &v) != nil {
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
