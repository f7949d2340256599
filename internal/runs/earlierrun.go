package runs

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/scenarios"
)

// EarlierRun is an earlier run, as far as it tells what need not be run again.
type EarlierRun struct {
	dir string
	// same: this program is the one that ran it.
	same bool
	// last is what became of each scenario, by its name.
	last map[string]outcome
}

// outcome is what became of a scenario in an earlier run.
type outcome struct {
	plan  string // the plan's digest, whatever its seed; "": it was never begun
	wrong bool   // in one of its repetitions at least
}

// ReadEarlierRun reads an earlier run's folder, with its repetitions.
func (t *Tool) ReadEarlierRun(dir string) (*EarlierRun, error) {
	folders, err := RepetitionsIn(dir)
	if err != nil {
		return nil, exit.Misuse(fmt.Errorf("--only-changed-since: %w", err))
	}
	s := &EarlierRun{dir: dir, same: t.Build != "", last: map[string]outcome{}}
	for _, folder := range folders {
		run, err := Load(folder)
		if err != nil {
			return nil, exit.Misuse(fmt.Errorf("--only-changed-since: %w", err))
		}
		s.same = s.same && run.Build == t.Build
		for _, r := range run.Scenarios {
			o := outcome{wrong: s.last[r.Name].wrong || cameOutWrong(folder, r, run)}
			if p, err := scenarios.LoadPlanIn(folder, filepath.Join(r.Dir, PlanFile), t.Catalogue()); err == nil {
				o.plan = seedlessDigest(*p)
			}
			s.last[r.Name] = o
		}
	}
	return s, nil
}

// seedlessDigest is a plan's digest without its seed.
func seedlessDigest(p scenarios.Plan) string {
	p.Seed = 0
	return digest(p)
}

// Changed are the plans that have to be run: first those that came out wrong in
// the earlier run, then those that it did not have, or had otherwise. Nothing
// reports whether a program of the user's own has changed, or lockchaos itself
// where it does not know its commit: then all plans have to be run.
func (s *EarlierRun) Changed(plans []scenarios.Plan) []scenarios.Plan {
	var wrong, others []scenarios.Plan
	for _, p := range plans {
		last := s.last[p.Scenario.Name]
		switch {
		case last.wrong:
			wrong = append(wrong, p)
		case !s.same || p.Scenario.External() || p.Scenario.Own() || last.plan != seedlessDigest(p):
			others = append(others, p)
		}
	}
	return slices.Concat(wrong, others)
}

// Left says what was left out of so many plans.
func (s *EarlierRun) Left(all, left int) string {
	if left == 0 {
		return fmt.Sprintf("Nothing is to be run: all %d scenarios came out as they should in %s, and have not changed.", all, s.dir)
	}
	return fmt.Sprintf("%d of %d scenarios are left out: they came out as they should in %s, and have not changed",
		all-left, all, s.dir)
}
