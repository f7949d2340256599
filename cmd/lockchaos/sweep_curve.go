package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/experiments"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/runtimes"
	"github.com/lockchaos/lockchaos/runs/screen"
	"github.com/lockchaos/lockchaos/scenarios"
)

// The files of a safety curve.
const (
	curveCSV  = "curve.csv"
	curveJSON = "curve.json"
)

// sweepFlags are the settings of `lockchaos sweep`.
type sweepFlags struct {
	runFlags
	lock, fault, target, when, clock string
	over                             string
	runs, points                     int
	property                         string
}

func sweepCommand() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep [SCENARIO|FILE.yaml]",
		Short: "Measure how often a lock is violated over the length of a fault, in TTLs: the safety curve",
		Long: `Runs a lock under a fault whose length (or, of a clock-jump, whose offset) goes from less than the TTL to more, some runs at each point, and draws how many of the holds
that were struck are part of a violation, with confidence intervals: as a page, as CSV and as JSON.

The lock and the fault are given by --lock and --fault, or by a scenario with one fault. The rate counts struck holds and not runs, so it does not depend on how long a run is.

Exit status: 0 it was measured, whatever came out; 2 at some point no hold was struck; 3 some runs failed.`,
		Example: `  lockchaos sweep --lock redis-setnx --fault pause --over duration=0.5..3xTTL --runs 20
  lockchaos sweep --lock redis-setnx --fault clock-jump --target nodes:1 --over offset=0.5..2xTTL
  lockchaos sweep my-lock.yaml --over duration=250ms..2s --points 8`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("seed") {
				f.Seed = rand.Uint64N(1_000_000)
			}
			if f.runs < 1 || f.points < 2 || f.points > 200 {
				return exit.Misuse(fmt.Errorf("--runs %d --points %d: one run at least, and 2 to 200 points", f.runs, f.points))
			}
			if err := f.checkWhere(); err != nil {
				return err
			}
			base, err := f.base(args)
			if err != nil {
				return exit.Misuse(err)
			}
			values, err := parseOver(f.over, base.TTL.Std(), f.points)
			if err != nil {
				return exit.Misuse(err)
			}
			return f.sweep(cmd.Context(), screen.New(cmd.OutOrStdout()), args, base, values)
		},
	}
	flags := cmd.Flags()
	f.addWhere(flags)
	flags.StringVar(&f.lock, "lock", "", "the lock (lockchaos list locks)")
	flags.StringVar(&f.fault, "fault", nemesis.KindPause, "the kind of the fault (lockchaos list faults)")
	flags.StringVar(&f.target, "target", "", "whom it strikes (default: the holder; of a clock-jump one node, nodes:1)")
	flags.StringVar(&f.when, "when", "", "when it strikes (default: between-read-and-write; of a clock-jump after-grant)")
	flags.StringVar(&f.clock, "clock", "wall", "of a clock-jump: which clock, wall or mono")
	flags.StringVar(&f.over, "over", "", `what is varied, from where to where: duration=0.5..3xTTL, or duration=250ms..2s; of a clock-jump offset=0.5..3xTTL (default: 0.5 to 3 TTLs)`)
	flags.IntVar(&f.points, "points", 11, "how many values, evenly spaced")
	flags.IntVar(&f.runs, "runs", 10, "how many runs at each value")
	flags.Uint64Var(&f.Seed, "seed", 0, "seed of the first run (default: a new one, printed)")
	flags.StringVar(&f.property, "property", checker.MutualExclusion, "the property whose violations are counted")
	return cmd
}

// curve is one measurement.
type curve struct {
	sweepFlags
	out    *screen.Screen
	base   scenarios.Scenario
	values overValues
	tries  *experiments.Trials
	began  time.Time

	mu   sync.Mutex // guards what follows
	data reports.Curve
	left []int // how many runs each point still waits for
	told int   // the points up to here have been told
}

// sweep measures and writes. args are the words of the command line.
func (f sweepFlags) sweep(ctx context.Context, out *screen.Screen, args []string, base scenarios.Scenario, values overValues) (err error) {
	c := &curve{sweepFlags: f, out: out, base: base, values: values, began: time.Now()}
	plans, err := c.plans()
	if err != nil {
		return exit.Misuse(err)
	}
	if err := runs.WithoutSecrets(plans); err != nil {
		return err
	}
	where, err := runtimes.Choose(ctx, f.runFlags.Where, kindOf, plans[:1], out.Say)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, where.Close()) }()
	if f.Runtime == runtimes.Compose {
		c.Parallel = 1
	}
	if why := where.Skip(plans[0]); why != "" {
		return fmt.Errorf("the fault can't be done here: %s", why)
	}
	dir, err := runs.MakeFolder(f.Out, c.began)
	if err != nil {
		return err
	}
	if c.tries, err = experiments.NewTrials(c.complete(), where, "sweep"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.tries.Close()) }()
	c.begin(args, where, len(plans))
	c.measure(ctx, plans)
	c.data.Elapsed = int64(time.Since(c.began))
	if ctx.Err() != nil {
		out.Say("interrupted: the points that are there are written")
	}
	return errors.Join(c.write(dir), c.conclude(ctx, dir))
}

// begin says what will be done.
func (c *curve) begin(args []string, where runtimes.Runtime, runs int) {
	service := "no service"
	if kind, err := kindOf(&c.base); err == nil && kind.Service != "" {
		service = kind.Service
	}
	c.data = reports.Curve{Lock: c.base.Lock, Service: service, Store: c.base.Store.Kind, Fault: c.base.Faults[0].Label(), TTL: c.base.TTL.Std(), Property: c.property, Over: c.values.what, Runs: c.runs, Seed: c.Seed,
		Command: c.command(args), Version: version, Runtime: where.About(), Started: c.began.UTC().Truncate(time.Second)}
	for _, v := range c.values.all {
		c.data.Points = append(c.data.Points, reports.CurvePoint{Ratio: float64(v) / float64(c.base.TTL), Value: int64(v)})
		c.left = append(c.left, c.runs)
	}
	c.out.Say(fmt.Sprintf("lockchaos %s · safety curve of %s under %s · %s · seeds from %d", version, c.data.Lock, c.data.Fault, c.data.Runtime, c.Seed))
	c.out.Say(fmt.Sprintf("%d values of its %s, %d runs each: %d runs, %d at once\n", len(c.values.all), c.values.what, c.runs, runs, c.Parallel))
}

// command is what the user would type to have it again.
func (c *curve) command(args []string) string {
	line := append([]string{os.Args[0], "sweep"}, args...)
	if c.lock != "" {
		line = append(line, "--lock", c.lock, "--fault", c.fault)
		if c.target != "" {
			line = append(line, "--target", c.target)
		}
		if c.when != "" {
			line = append(line, "--when", c.when)
		}
	}
	line = append(line, "--over", c.values.text, "--points", strconv.Itoa(c.points), "--runs", strconv.Itoa(c.runs), "--seed", strconv.FormatUint(c.Seed, 10))
	return reports.Shell(append(line, c.whereWords()...)...)
}

// plans are all runs, point by point, each with a seed of its own.
func (c *curve) plans() (all []scenarios.Plan, err error) {
	for _, v := range c.values.all {
		s := c.values.apply(c.base, v)
		if err := experiments.Runnable(catalogue(), s); err != nil {
			return nil, fmt.Errorf("%s of %v: %w", c.values.what, v, err)
		}
		for range c.runs {
			all = append(all, scenarios.Plan{Seed: c.Seed + uint64(len(all)), Scenario: s})
		}
	}
	return all, nil
}

// measure runs all plans, and tells each point when it and those before it are done.
func (c *curve) measure(ctx context.Context, plans []scenarios.Plan) {
	places := make(chan struct{}, c.Parallel)
	var all sync.WaitGroup
	for i, p := range plans {
		places <- struct{}{} // so that points are measured in their order
		all.Go(func() {
			defer func() { <-places }()
			one := reports.CurvePoint{Runs: 1, Failed: 1}
			err := c.tries.Run(ctx, p, func(sc reports.Scenario, folder string) {
				h, err := history.ReadFile(runs.HistoryIn(folder))
				if err != nil || sc.Failed != "" || sc.Skipped != "" || h.Truncated {
					return
				}
				one = experiments.StruckHolds(h, c.property)
			})
			if ctx.Err() != nil {
				return
			}
			c.add(i/c.runs, one, err)
		})
	}
	all.Wait()
}

// add takes what one run showed at a point.
func (c *curve) add(point int, one reports.CurvePoint, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.out.Say(fmt.Sprintf("a run failed: %v", err))
	}
	c.data.Points[point].Add(one)
	c.left[point]--
	for c.told < len(c.left) && c.left[c.told] == 0 {
		c.out.Say(fmt.Sprintf("%6.1f s  %s", time.Since(c.began).Seconds(), reports.CurveLine(c.data, c.data.Points[c.told])))
		c.told++
	}
}

// write writes the curve's files.
func (c *curve) write(dir string) error {
	return errors.Join(
		reports.WriteFile(filepath.Join(dir, reports.IndexFile), func(w io.Writer) error { return reports.WriteCurve(w, c.data) }),
		reports.WriteFile(filepath.Join(dir, curveCSV), func(w io.Writer) error { return reports.WriteCurveCSV(w, c.data) }),
		reports.WriteFile(filepath.Join(dir, curveJSON), func(w io.Writer) error { return reports.WriteCurveJSON(w, c.data) }),
	)
}

// conclude says what came out; its error carries the exit status.
func (c *curve) conclude(ctx context.Context, dir string) error {
	c.out.Say("\n" + reports.CurveHeadline(c.data))
	c.out.Say(fmt.Sprintf("again: %s\nreport: %s, %s", c.data.Command, filepath.Join(dir, reports.IndexFile), filepath.Join(dir, curveCSV)))
	code := exit.OK
	for _, p := range c.data.Points {
		if p.Failed > 0 {
			code = exit.Worse(code, exit.Failed)
		}
		if p.Struck == 0 {
			code = exit.Worse(code, exit.Inconclusive)
		}
	}
	if ctx.Err() != nil {
		return exit.With(exit.Failed, errors.New("interrupted: the curve holds what there is"))
	}
	if code != exit.OK {
		return exit.With(code, nil)
	}
	return nil
}
