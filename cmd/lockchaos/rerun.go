package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/runtimes"
	"github.com/lockchaos/lockchaos/runs/screen"
	"github.com/lockchaos/lockchaos/scenarios"
)

// savedRun is a folder of a run, or of one of its scenarios: what was run, and what it came to, as it is judged now.
type savedRun struct {
	dir   string // of the run
	named string // the folder that was named
	run   *runs.Record
	suite reports.Suite
	plans []scenarios.Plan // of the scenarios of suite
}

// loadSaved reads what lies in a folder of a run, or of a scenario.
func loadSaved(dir string) (*savedRun, error) {
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
	s := &savedRun{dir: dir, named: named, run: run}
	var all []runs.Judged
	for _, r := range run.Scenarios {
		if only != "" && r.Dir != only {
			continue
		}
		plan, err := scenarios.LoadPlan(filepath.Join(dir, r.Dir, runs.PlanFile), catalogue())
		if err != nil {
			return nil, err
		}
		s.plans = append(s.plans, *plan)
		all = append(all, ours().JudgeScenario(dir, r, run))
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s does not name the scenario %s, although its folder is there", filepath.Join(dir, runs.RecordFile), only)
	}
	s.suite = run.Together(all)
	return s, nil
}

func firstOf(r *reports.Repetition) string {
	if r == nil || len(r.Runs) == 0 {
		return "seed-1"
	}
	return r.Runs[0].Dir
}

// sameWhere are the flags of a saved run that say where it ran, unless others are given.
func (f *runFlags) sameWhere(cmd *cobra.Command, run *runs.Record) error {
	for _, name := range whereFlags {
		if cmd.Flags().Changed(name) {
			return nil
		}
	}
	return cmd.Flags().Parse(run.Where)
}

func rerunCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "rerun DIR",
		Short: "Run saved plans again, and say whether the verdicts are the same",
		Long: `Runs the plan of a scenario's folder again, or all plans of a run's folder: the same scenario, the same seed, where it ran before. Then it sets what came
out beside what the folder shows, both judged by this version of the checker.

A seed repeats the plan: think times, lengths and spacing of faults. It does not repeat the schedule, so a verdict may differ by chance: "lockchaos run
--plan DIR/plan.yaml --repeat 20" tells how often.

Exit status: 0 the verdicts are the same, 1 one differs, 2 one that was decided is decided no more, 3 the harness or a service failed.`,
		Example: `  lockchaos rerun runs/latest/redis-setnx.pause-holder.unfenced
  lockchaos rerun runs/latest`,
		Args: oneFolder("rerun"),
		RunE: func(cmd *cobra.Command, args []string) error {
			before, err := loadSaved(args[0])
			if err != nil {
				return exit.Misuse(err)
			}
			if err := f.sameWhere(cmd, before.run); err != nil {
				return exit.Misuse(err)
			}
			f.crowd(cmd.Flags())
			return before.again(cmd, f)
		},
	}
	f.addWhere(cmd.Flags())
	f.addEffort(cmd.Flags())
	f.addCompress(cmd.Flags())
	return cmd
}

// oneFolder is for commands that take a folder of a run.
func oneFolder(verb string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return exit.Misuse(fmt.Errorf("%s needs one folder, such as runs/latest or runs/latest/redis-setnx.none.unfenced", verb))
		}
		return nil
	}
}

// again runs the plans again and compares.
func (s *savedRun) again(cmd *cobra.Command, f runFlags) (err error) {
	ctx, out := cmd.Context(), screen.New(cmd.OutOrStdout())
	f.NoExpect, f.Seed = s.run.NoExpect, s.run.Seed
	if err := f.checkWhere(); err != nil {
		return err
	}
	if err := runs.WithoutSecrets(s.plans); err != nil {
		return err
	}
	where, err := runtimes.Choose(ctx, f.Where, kindOf, s.plans, out.Say)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, where.Close()) }()
	if f.Runtime == runtimes.Compose {
		f.Parallel = 1
	}
	now := &runs.Run{Settings: f.complete(), Where: where, Name: s.run.Suite, About: s.run.About, Plans: s.plans, Screen: out, Command: reports.Shell(os.Args[0], "rerun", s.named)}
	began := time.Now()
	dir, err := runs.MakeFolder(f.Out, began)
	if err != nil {
		return err
	}
	now.Prepare(dir, began)
	now.Begin()
	now.Launch(ctx, make(chan struct{}, f.Parallel))()
	out.Stop()
	suite, unwritten := now.Finish()
	c := reports.Compare(s.suite, suite)
	if err := reports.ComparisonText(out.Out, c, out.Color); err != nil {
		return fmt.Errorf("print the comparison: %w", err)
	}
	for _, x := range suite.Scenarios {
		if x.Failed != "" {
			harmless.Fprintf(out.Out, "%s failed: %s\n  logs: %s\n", x.Name, harmless.Block(strings.TrimSpace(x.Failed), "  "), filepath.Join(dir, x.Dir, reports.LogFolder))
			unwritten = errors.Join(unwritten, fmt.Errorf("%s failed", x.Name))
		}
	}
	harmless.Fprintf(out.Out, "report: %s\n", reports.There(filepath.Join(dir, reports.IndexFile)))
	switch {
	case ctx.Err() != nil:
		return exit.With(exit.Failed, errors.New("interrupted: the report holds what there is"))
	case unwritten != nil:
		return exit.With(exit.Failed, unwritten)
	case c.Count(reports.Worse, reports.Better, reports.Decided) > 0:
		return exit.With(exit.Violated, nil)
	case c.Count(reports.Undecided) > 0:
		return exit.With(exit.Inconclusive, nil)
	}
	return nil
}
