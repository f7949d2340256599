package experiments

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/page"
	"github.com/lockchaos/lockchaos/reports/studies"
	"github.com/lockchaos/lockchaos/reports/terminal"
	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/screen"
	"github.com/lockchaos/lockchaos/scenarios"
)

// relative is the way from one folder to another, with slashes.
func relative(from, to string) (string, error) {
	var err error
	for _, dir := range []*string{&from, &to} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return "", fmt.Errorf("find a folder: %w", err)
		}
		if real, err := filepath.EvalSymlinks(*dir); err == nil {
			*dir = real
		}
	}
	way, err := filepath.Rel(from, to)
	if err != nil {
		return "", fmt.Errorf("find the way to %s: %w", to, err)
	}
	return filepath.ToSlash(way), nil
}

// Saved is a folder of a run, or of one of its scenarios: what was run, and what it came to, as it is judged now.
type Saved struct {
	Dir   string // of the run
	Named string // the folder that was named
	Run   *runs.Record
	Suite reports.Suite
	Plans []scenarios.Plan // of the scenarios of suite
}

// Load reads what lies in a folder of a run, or of a scenario.
func Load(tool *runs.Tool, dir string) (*Saved, error) {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // a link such as latest may point elsewhere tomorrow
	}
	if r, err := runs.LoadRepetition(dir); r != nil || err != nil {
		return nil, errors.Join(err, fmt.Errorf("%s holds repetitions: name one of them, such as %s", dir, filepath.Join(dir, firstOf(r))))
	}
	named, only := dir, ""
	if _, err := os.Stat(filepath.Join(dir, runs.PlanFile)); err == nil {
		dir, only = filepath.Dir(filepath.Clean(dir)), filepath.Base(filepath.Clean(dir))
	}
	run, err := runs.Load(dir)
	if err != nil {
		return nil, fmt.Errorf("%w (a run's folder is one such as runs/latest, a scenario's one such as runs/latest/redis-setnx.none.unfenced)", err)
	}
	s := &Saved{Dir: dir, Named: named, Run: run}
	var all []runs.Judged
	for _, r := range run.Scenarios {
		if only != "" && r.Dir != only {
			continue
		}
		plan, err := scenarios.LoadPlan(filepath.Join(dir, r.Dir, runs.PlanFile), tool.Catalogue())
		if err != nil {
			return nil, err
		}
		s.Plans = append(s.Plans, *plan)
		all = append(all, tool.JudgeScenario(dir, r, run))
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s does not name the scenario %s, although its folder is there", filepath.Join(dir, runs.RecordFile), only)
	}
	s.Suite = run.Together(all)
	return s, nil
}

func firstOf(r *reports.Repetition) string {
	if r == nil || len(r.Runs) == 0 {
		return "seed-1"
	}
	return r.Runs[0].Dir
}

// CompareFile is the page of two runs, in the folder of the second.
const CompareFile = "comparison.html"

// Compare sets two runs side by side, as text and as a page. It is 1 if a scenario of the second is worse, 2 if one is no longer decided.
func Compare(tool *runs.Tool, out io.Writer, a, b, file string) error {
	first, err := Load(tool, a)
	if err != nil {
		return exit.Misuse(err)
	}
	second, err := Load(tool, b)
	if err != nil {
		return exit.Misuse(err)
	}
	c := studies.Compare(first.Suite, second.Suite)
	if file == "" {
		file = filepath.Join(second.Dir, CompareFile)
	}
	to := func(dir string) (string, error) { return relative(filepath.Dir(file), dir) }
	dirA, err := to(first.Dir)
	if err != nil {
		return err
	}
	dirB, err := to(second.Dir)
	if err != nil {
		return err
	}
	if err := reports.WriteFile(file, func(w io.Writer) error { return page.WriteComparison(w, c, dirA, dirB) }); err != nil {
		return err
	}
	s := screen.New(out)
	if err := terminal.ComparisonText(out, c, s.Color); err != nil {
		return fmt.Errorf("print the comparison: %w", err)
	}
	harmless.Fprintf(out, "report: %s\n", file)
	return exit.Ended(differs(c, studies.Worse), nil, false)
}
