package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/experiments"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// sweepFlags are the settings of `lockchaos sweep`.
type sweepFlags struct {
	runFlags
	experiments.CurveFault
	runs, points int
	property     string
}

func sweepCommand() *cobra.Command {
	f := sweepFlags{runFlags: newRunFlags()}
	cmd := &cobra.Command{
		Use:   "sweep [SCENARIO|FILE.yaml]",
		Short: "Measure how often a lock is violated over the length of a fault, in TTLs: the safety curve",
		Long: `Runs a lock under a fault whose length (or, of a clock-jump, whose offset) goes from less than the
TTL to more, some runs at each point. It draws the share of struck holds that are part of a
violation, with confidence intervals: as a page, as CSV and as JSON.

The lock and the fault are given by --lock and --fault, or by a scenario with one fault. The rate
counts struck holds and not runs, so it does not depend on the length of a run.

Exit status: 0 it was measured, whatever came out; 2 at some point no hold was struck; 3 some runs failed.`,
		Example: `  lockchaos sweep --lock redis-setnx --fault pause --over duration=0.5..3xTTL --runs 20
  lockchaos sweep --lock redis-setnx --fault clock-jump --target nodes:1 --over offset=0.5..2xTTL
  lockchaos sweep my-lock.yaml --over duration=250ms..2s --points 8`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("seed") {
				f.Seed = f.Shard.Seed()
			}
			if f.runs < 1 || f.points < 2 || f.points > 200 {
				return exit.Misuse(fmt.Errorf("--runs %d --points %d: one run at least, and 2 to 200 points", f.runs,
					f.points))
			}
			if err := f.checkWhere(); err != nil {
				return err
			}
			base, values, err := f.Base(ours(), args, f.points)
			if err != nil {
				return exit.Misuse(err)
			}
			return f.sweep(cmd.Context(), screen.New(cmd.OutOrStdout()), args, base, values)
		},
	}
	flags := cmd.Flags()
	f.addWhere(flags)
	flags.StringVar(&f.Lock, "lock", "", "the lock (lockchaos list locks)")
	flags.StringVar(&f.Fault, "fault", nemesis.KindPause, "the kind of the fault (lockchaos list faults)")
	flags.StringVar(&f.Target, "target", "", "whom it strikes (default: the holder; of a clock-jump one node, nodes:1)")
	flags.StringVar(&f.When, "when", "",
		"when it strikes (default: between-read-and-write; of a clock-jump after-grant)")
	flags.StringVar(&f.Clock, "clock", "wall", "of a clock-jump: which clock, wall or mono")
	flags.StringVar(&f.Over, "over", "",
		`what is varied, from where to where: duration=0.5..3xTTL, or duration=250ms..2s; of a clock-jump offset=0.5..3xTTL (default: 0.5 to 3 TTLs)`)
	flags.IntVar(&f.points, "points", 11, "how many values, evenly spaced")
	flags.IntVar(&f.runs, "runs", 10, "how many runs at each value")
	flags.Uint64Var(&f.Seed, "seed", 0, "seed of the first run (default: a new one, printed)")
	flags.StringVar(&f.property, "property", checker.MutualExclusion, "the property whose violations are counted")
	return cmd
}

// command is what the user would type to have it again.
func (f *sweepFlags) command(args []string, values experiments.Values) string {
	line := append([]string{os.Args[0], "sweep"}, args...)
	if f.Lock != "" {
		line = append(line, "--lock", f.Lock, "--fault", f.Fault)
		if f.Target != "" {
			line = append(line, "--target", f.Target)
		}
		if f.When != "" {
			line = append(line, "--when", f.When)
		}
	}
	line = append(line, "--over", values.Text, "--points", strconv.Itoa(f.points), "--runs", strconv.Itoa(f.runs),
		"--seed", strconv.FormatUint(f.Seed, 10))
	return reports.Shell(append(line, f.whereWords()...)...)
}

// sweep measures and writes. args are the words of the command line.
func (f *sweepFlags) sweep(ctx context.Context, out *screen.Screen, args []string, base scenarios.Scenario,
	values experiments.Values) (err error) {
	c := &experiments.Curve{Settings: f.complete(), Property: f.property, Runs: f.runs,
		Command: f.command(args, values), Screen: out, Base: base, Values: values, Began: time.Now()}
	plans, err := c.Plans()
	if err != nil {
		return exit.Misuse(err)
	}
	if err := runs.WithoutSecrets(plans); err != nil {
		return err
	}
	return f.there(ctx, plans[:1], out.Say, func(where runtimes.Runtime) error {
		c.Parallel = f.Parallel
		return c.Do(ctx, plans, where)
	})
}
