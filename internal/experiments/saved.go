package experiments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/outside"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/page"
	"github.com/lockchaos/lockchaos/reports/studies"
	"github.com/lockchaos/lockchaos/reports/terminal"
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

// Saved is a folder of a run, or of one of its scenarios: what was run, and
// what it came to, as it is judged now.
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
		return nil, errors.Join(err, fmt.Errorf("%s holds repetitions: name one of them, such as %s", dir,
			filepath.Join(dir, firstOf(r))))
	}
	named, only := dir, ""
	if outside.Has(dir, runs.PlanFile) {
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
		plan, err := scenarios.LoadPlanIn(dir, filepath.Join(r.Dir, runs.PlanFile), tool.Catalogue())
		if err != nil {
			return nil, err
		}
		s.Plans = append(s.Plans, *plan)
		all = append(all, tool.JudgeScenario(dir, r, run))
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s does not name the scenario %s, although its folder is there",
			filepath.Join(dir, runs.RecordFile), only)
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

// Compare sets two runs side by side, as text and as a page. It is 1 if a
// scenario of the second is worse, 2 if one is no longer decided.
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
	write := reports.WriteFile
	if file == "" {
		file = filepath.Join(second.Dir, CompareFile)
		write = func(_ string, render func(io.Writer) error) error {
			return outside.Write(second.Dir, CompareFile, render)
		}
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
	if err := write(file, func(w io.Writer) error { return page.WriteComparison(w, c, dirA, dirB) }); err != nil {
		return err
	}
	s := screen.New(out)
	if err := terminal.ComparisonText(out, c, s.Color); err != nil {
		return fmt.Errorf("print the comparison: %w", err)
	}
	harmless.Fprintf(out, "report: %s\n", file)
	return exit.Ended(differs(c, studies.Worse), nil, false)
}

// Report judges and renders a run's folder again: that of a run, a repetition or a gate. open makes
// the screen on which it is told. Its error carries the exit status.
func Report(ctx context.Context, tool *runs.Tool, dir string, open func() (*screen.Screen, error)) error {
	// A link is shown as what it points at: it may point elsewhere tomorrow.
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	repeated, err := runs.LoadRepetition(dir)
	if err != nil {
		return exit.Misuse(err)
	}
	out, err := open()
	if err != nil {
		return err
	}
	if runs.IsGate(dir) {
		return tool.ReportGate(out, dir)
	}
	if repeated != nil {
		return reportSeries(ctx, tool, out, dir, repeated)
	}
	run, suite, err := tool.JudgeRun(dir)
	if err != nil {
		return exit.Misuse(err)
	}
	if err := runs.Render(dir, suite); err != nil {
		if errors.Is(err, os.ErrPermission) {
			return fmt.Errorf("%w (the reports are written into the run's own folder)", err)
		}
		return err
	}
	return out.Summarize(dir, suite, func(w io.Writer) error {
		return runs.Tell(w, dir, suite, run.NoExpect,
			run.Interrupted)
	})
}

// ReadTrend reads the records of all runs in a folder. Each repetition counts as a run.
func ReadTrend(dir string) (*studies.Trend, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	t := &studies.Trend{}
	var all []*runs.Record
	named := map[*runs.Record]string{}
	for _, e := range entries {
		if !e.IsDir() { // the link to the latest is none
			continue
		}
		folders, err := runs.RepetitionsIn(filepath.Join(dir, e.Name()))
		if err != nil {
			folders = []string{filepath.Join(dir, e.Name())}
		}
		for _, folder := range folders {
			run, err := runs.Load(folder)
			if err != nil {
				t.Without++
				continue
			}
			named[run], _ = filepath.Rel(dir, folder)
			all = append(all, run)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no folder in it is one of a run", dir)
	}
	slices.SortStableFunc(all, func(a, b *runs.Record) int { return a.Started.Compare(b.Started) })
	for _, run := range all {
		t.Runs = append(t.Runs, named[run])
		for _, r := range run.Scenarios {
			if r.State == runs.StateEnded {
				t.Add(r.Name, r.Result, studies.Turn{Run: named[run], Elapsed: r.Elapsed})
			}
		}
	}
	t.Sort()
	return t, nil
}
