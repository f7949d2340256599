package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/internal/exhaustive"
	"github.com/lockchaos/lockchaos/internal/experiments"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/pick"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

func examCommand() *cobra.Command {
	f := newRunFlags()
	cmd := &cobra.Command{
		Use:   "exam [LOCK…]",
		Short: "Attack a lock in every way that its claims invite",
		Long: `Attacks one lock: one that comes with lockchaos, or with --lock-cmd a program of your own in any
language, or with --acquire a lock that is made of shell commands (docs/shell.md). With --job-cmd it
attacks a scheduler, and so it does with one that comes with lockchaos, and with --leader-cmd a
candidate for leadership (docs/jobs.md). Each attack aims
one fault at one step of one kind of application. Which attacks make sense follows from the lock's
claims and abilities, and from its service. Every time is stretched to its lease. Several locks of
lockchaos are examined one after the other, each in a run of its own; the status is the gravest.

--dry-run --format json lists the attacks, one object a line. A test framework makes a test of each.

At the end each attack has an outcome: the lock stood, it fell to a defect of its own, it fell to
what no lease prevents, or the attack showed nothing. An attack that showed nothing is made again
(--retries). An attack for which this machine lacks something is not applicable: it is left out
before anything runs, and the last lines say what to install.

An exam of a lock with a long lease takes long. --budget makes only the attacks that fit, the most
telling first, and names the others. A lock of your own whose lease cannot be set says so itself
(lease_ms, docs/protocol.md).

Exit status: 0 no defect, 1 a defect, 2 an attack that stayed inconclusive or fell without a clear
cause, 3 the harness failed.`,
		Example: `  lockchaos exam redlock
  lockchaos exam --lock-cmd "python3 my_lock.py" --service redis
  lockchaos exam --service redis --acquire 'sh lock.sh acquire' --release 'sh lock.sh release'
  lockchaos exam etcd-lease zookeeper --short
  lockchaos exam --job-cmd "python3 examples/jobs/cron.py" --service redis
  lockchaos exam --lock-go ./my-lock --complete
  lockchaos exam zookeeper --attack stop-wait,cut-off-wait
  lockchaos exam --lock-cmd "python3 my_lock.py" --service redis --budget 20m`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.settle(cmd.Flags())
			return f.examEach(cmd, args)
		},
	}
	flags := cmd.Flags()
	f.addWhere(flags)
	f.addEffort(flags)
	f.measured.add(flags)
	addSeed(flags, &f.Seed)
	f.addShard(flags)
	f.addScale(flags, `"test": a short lease; "real": one of 10 s or longer, as in production`)
	f.addOwn(flags, "command line of a lock of your own (docs/protocol.md)",
		"lease of the lock (default: that of its scenarios; of --lock-cmd its own where that cannot be set, else 500ms, etcd and zookeeper 2s)")
	f.addJobs(flags)
	flags.BoolVar(&f.Short, "short", false, "make only the most telling attacks, about a third")
	flags.DurationVar(&f.Budget, "budget", 0,
		"make only the most telling attacks, as many as fit into this time, such as 20m; the others are named")
	flags.StringSliceVar(&f.Attacks, "attack", nil, "make only these attacks")
	flags.BoolVar(&f.everyPlace, "complete", false,
		"with --lock-go: first try every single fault at every place in virtual time, or what the journal of \"lockchaos explore --complete\" lacks of it")
	flags.BoolVar(&f.Unmasked, "no-mend", false, "do not make attacks again that fell, on an application that avoids the first defect")
	f.outputFlags.add(flags)
	return cmd
}

// examEach examines the locks one after the other. It looks at all names before the first exam. Its
// error carries the gravest status, and all that went wrong.
func (f *runFlags) examEach(cmd *cobra.Command, names []string) error {
	if len(names) < 2 {
		f.Names = names
		return f.shown(cmd, f.exam)
	}
	for _, name := range names {
		if _, err := pick.Examinee(f.Tool, name, 0); err != nil {
			return exit.Misuse(err)
		}
	}
	code, wrong := exit.OK, error(nil)
	for _, name := range names {
		one := *f // an exam sets flags by what its lock is
		one.Names = []string{name}
		err := one.shown(cmd, one.exam)
		if exit.Of(err) == exit.Usage || cmd.Context().Err() != nil {
			return err
		}
		code = exit.Worse(code, exit.Of(err))
		if s, carries := errors.AsType[*exit.Status](err); carries {
			err = s.Err
		}
		wrong = errors.Join(wrong, err)
	}
	return exit.Ended(code, wrong, false)
}

// exam examines the lock.
func (f *runFlags) exam(c *cobra.Command, out *screen.Screen) error {
	ctx := c.Context()
	if err := f.checkExam(); err != nil {
		return err
	}
	plans, exam, err := f.Exam(ctx)
	if err != nil {
		return err
	}
	if len(plans) == 0 {
		if !(f.dry && out.Attacks(nil, exam)) {
			runs.NoAttack(c.OutOrStdout(), exam)
		}
		return nil
	}
	if f.dry && out.Attacks(f.Shard.Part(plans), exam) {
		return nil
	}
	f.Parallel = f.AtOnce(slices.MinFunc(plans, func(a,
		b scenarios.Plan) int {
		return cmp.Compare(a.Scenario.TTL, b.Scenario.TTL)
	}).Scenario.TTL)
	name := "exam of " + exam.Lock
	if f.dry {
		defer func() {
			for _, r := range exam.LeftOver() {
				harmless.Fprintln(c.OutOrStdout(), r.String())
			}
		}()
	}
	return f.carryOut(ctx, c.OutOrStdout(), name, plans, func(where runtimes.Runtime) error {
		s := &runs.Run{Settings: f.complete(), Where: where, Name: name,
			About: "every attack that the lock's claims invite", Plans: plans, Command: f.examLine(), Screen: out,
			Exam: exam}
		if !f.everyPlace {
			return s.Do(ctx)
		}
		code, err := f.tryPlaces(ctx, exam, out)
		if err != nil {
			return err
		}
		err = s.Do(ctx)
		if status, carries := errors.AsType[*exit.Status](err); carries {
			return exit.With(exit.Worse(code, status.Code), status.Err)
		}
		return cmp.Or(err, exit.Ended(code, nil, false))
	})
}

// tryPlaces tries each single fault at each place for the exam of a lock in Go, and returns the
// exit status of what that came to.
func (f *runFlags) tryPlaces(ctx context.Context, exam *reports.Exam, out *screen.Screen) (code int, err error) {
	x := &experiments.Exploring{Tool: f.Tool, Seed: 1, For: exhaustive.AnyTime, Cores: runtime.NumCPU(), Faults: 1,
		Corpus: experiments.UsualCorpus, Out: out}
	if x.Lock, err = f.Own.Meet(ctx, runtimes.Where{Runtime: runtimes.Virtual}, func(string) bool { return false }); err != nil {
		return exit.Failed, err
	}
	settings := f.Settings
	settings.Parallel = x.Cores
	exam.Complete, code, err = x.Beside(ctx, settings, completeCommand(f, x))
	return code, err
}

// checkExam refuses what makes no sense of the flags of `lockchaos exam`.
func (f *runFlags) checkExam() error {
	if err := errors.Join(f.checkWhere(), f.checkScale()); err != nil {
		return err
	}
	if err := f.takeKind(); err != nil {
		return err
	}
	switch {
	case f.Budget < 0:
		return exit.Misuse(fmt.Errorf("--budget %v: give the time that the exam may take, such as 20m", f.Budget))
	case f.Budget > 0 && f.Shard.Total > 0:
		return exit.Misuse(errors.New("--budget chooses among all attacks, and a shard has some of them: give no --shard beside it"))
	case (len(f.Names) == 0) != f.Own.Given():
		return exit.Misuse(errors.New("name a lock (lockchaos list locks), or give --lock-cmd, --job-cmd, --leader-cmd or --acquire, and --service, for one of your own"))
	case !f.Own.Given() && f.Own.Service != "":
		return exit.Misuse(errors.New("--service is for the lock of --lock-cmd, --job-cmd, --leader-cmd or --acquire"))
	case f.everyPlace && (f.Own.Go == "" || f.Shard.Total > 0):
		return exit.Misuse(errors.New("--complete compiles the lock of --lock-go, and a shard has no part of it"))
	case f.Own.Given():
		return f.checkOwn()
	}
	return errors.Join(checkTTL(f.Own.TTL), checkEvery(f.Own.Every))
}

// examLine is what the user would type to have the same again.
func (f *runFlags) examLine() string {
	line := append([]string{os.Args[0], "exam"}, f.Names...)
	line = append(line, "--seed", strconv.FormatUint(f.Seed, 10))
	line = append(line, f.lockWords()...)
	if f.Short {
		line = append(line, "--short")
	}
	if f.everyPlace {
		line = append(line, "--complete")
	}
	if f.Unmasked {
		line = append(line, "--no-mend")
	}
	if f.Budget > 0 {
		line = append(line, "--budget", f.Budget.String())
	}
	if len(f.Attacks) > 0 {
		line = append(line, "--attack", strings.Join(f.Attacks, ","))
	}
	return f.again(line)
}
