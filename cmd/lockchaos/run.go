package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/experiments"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/metrics"
	"github.com/lockchaos/lockchaos/internal/runs/pick"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// runFlags are the settings of `lockchaos run`, and of the commands that share its flags.
type runFlags struct {
	pick.Request
	scale     string
	dry       bool
	shards    int
	since     string
	then      experiments.ReplayOptions
	yes       bool
	jobCmd    string // until it is Own.Command, as leaderCmd
	leaderCmd string
	taken     bool // a saved run has said where
	// every single fault at every place is tried in virtual time, beside an exam
	everyPlace bool
	// of those who wrote no plan themselves; nil: the user's words say what is started
	consent  func(starts []string) error
	measured metricsFlag
	repeatFlags
	outputFlags
}

func newRunFlags() runFlags {
	return runFlags{Request: pick.Request{Settings: runs.Settings{Tool: ours()}}}
}

// complete returns the settings of a run with these flags.
func (f *runFlags) complete() runs.Settings {
	s := f.Settings
	s.Words = f.whereWords()
	return s
}

// The scales of `--scale`.
const (
	scaleTest = "test" // the scenario's own times
	scaleReal = "real" // those of production
)

func runCommand() *cobra.Command {
	f := newRunFlags()
	cmd := &cobra.Command{
		Use:   "run [SUITE|SCENARIO|FILE.yaml …]",
		Short: "Run scenarios, judge them and write the report",
		Long: `Runs scenarios on real servers, each on a private network of its own. It records what happens,
judges it and writes the report. Without a name it runs the suite "quick". A name may also be the
beginning of scenario names, up to a slash.

The suite "random" is drawn from the seed: one scenario for each lock (--locks), with faults that
fit the lock and this machine, mixed by weight and combined. As for other suites, --duration is the
length of each scenario's workload (10 s if it is not given). So the same seed draws the same on
every machine that can do the same faults. Violations that theory allows the lock under these faults
are expected; any other makes the exit status 1. With --lock-cmd the one lock is your own, and
theory goes by what it declares.

Every run leaves a folder under runs/ (runs/latest points at the newest): index.html, junit.xml, and
for each scenario report.html, history.jsonl (with --compress: history.jsonl.zst), verdict.json,
plan.yaml and the logs.

A scenario says what theory expects of it; the exit status says whether that came out. With
--no-expect the properties alone decide: any that is violated makes the exit status 1.

On a busy machine a scenario may show nothing, and on any one a violation that it expects may not
come. It is then run again, up to --retries times, the last time alone on a busy machine. Each try
stays in the folder. With --repeat a run without the violation stands, and is counted.

--lock and --fault select some of the named scenarios. --last-failed takes those of the latest run
that did not come out as they should, as they were run. --only-changed-since takes those of the named
scenarios that an earlier run does not settle: the same build of lockchaos ran the same plan, and it
came out as it should. A lock of your own is always run. --dry-run says what would run and how long
that takes.

--shard 3/8 runs the third of eight parts, cut by planned length, in the same way on every machine
for the same command. Run each part on a machine of its own; lockchaos report --merge then makes one
report of all parts.

--repeat runs everything again and again, with other seeds. At the end it prints a table of the
verdicts by seed, with the rate of violated runs and its confidence interval. Each repetition keeps
its folder. The exit status is the worst of all.

With --lock-cmd a program of your own, in any language, takes the place of the scenarios' locks (see
` + "`lockchaos adapter`" + `), and with --acquire a lock that is made of shell commands (docs/shell.md). In every suite but "random" the properties alone judge it. With --inherent the
report names what no lease prevents, and the run does not fail for it: a holder that acts after the
end of its lease, and the harm that it does to a store without a fence. A defect of the lock still
fails the run, and an inconclusive property stays inconclusive.

Environment variables:
  ` + runtimes.EnvironmentVar + `            the default of --runtime
  ` + runtimes.ImageVar("redis") + `        an image, as --image redis=IMAGE (and so on, for each service)
  ` + backends.RedisVar + `              the program that runs as redis-server, such as valkey-server, or "miniredis", a stand-in
  ` + backends.PostgresVar + `           the folder of postgres and initdb
  ` + runs.InterpretVar + `      1: interpret what --runtime sim runs; nothing is compiled, and it is about eight times slower
  ` + adapter.MemoryVar + `     the memory that each client's adapter may use, with all that it starts, such as 4GB (default: 1GB)`,
		Example: `  lockchaos run
  lockchaos run redis-setnx/pause-holder/unfenced --no-expect
  lockchaos run etcd-lease --seed 7
  lockchaos run redis-setnx-fenced/pause-holder --scale real
  lockchaos run full --lock redlock,redsync --fault pause --dry-run
  lockchaos run full --shard 3/8
  lockchaos run full --runtime kubernetes --shards 20
  lockchaos run --last-failed
  lockchaos run full --only-changed-since runs/latest
  lockchaos run redlock --repeat 20 --until violated
  lockchaos run my-scenarios.yaml
  lockchaos run random --seed 7 --duration 60s --locks all
  lockchaos run quick --lock-cmd "python3 my_lock.py" --service redis --inherent
  lockchaos run random --lock-cmd "python3 my_lock.py" --service redis --duration 20s`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Names = args
			f.settle(cmd.Flags())
			return f.shown(cmd, f.run)
		},
	}
	flags := cmd.Flags()
	f.addWhere(flags)
	f.addEffort(flags)
	addSeed(flags, &f.Seed)
	flags.DurationVar(&f.Duration, "duration", 0, "length of each workload (default: the scenario's own)")
	flags.StringVar(&f.Plan, "plan", "", "run a saved plan.yaml again, instead of named scenarios")
	flags.StringSliceVar(&f.Locks, "locks", nil,
		`of the suite random: locks by their names, or "all" (the default), which are all that are not broken on purpose`)
	addSelection(cmd, &f.Only)
	flags.StringVar(&f.since, "only-changed-since", "",
		"folder of an earlier run: run first what did not come out as it should there, then what has changed, and nothing else")
	f.addShard(flags)
	flags.IntVar(&f.shards, "shards", 0,
		"of --runtime kubernetes: run so many shards at once, each in a pod of its own, and merge them")
	f.addScale(flags, `"test": the scenario's own, short times; "real": those of production, a TTL of 10 s and a holder that is frozen for 30 s`)
	f.addOwn(flags, "command line of a lock of your own, which takes the place of the scenarios' locks (docs/protocol.md)",
		"TTL of the lock of --lock-cmd; faults and workloads are stretched with it (default: the lock's own where that cannot be set, else the scenario's; etcd, zookeeper 2s)")
	f.addThen(flags)
	f.addYes(flags)
	f.repeatFlags.add(flags)
	f.measured.add(flags)
	f.outputFlags.add(flags)
	flags.BoolVar(&f.NoExpect, "no-expect", false, "judge by the properties alone, whatever the scenario expects")
	flags.BoolVar(&f.Inherent, "inherent", false,
		"expect of every lock what no lease prevents: a holder that is late, and the harm that it does to a store without a fence; all else fails")
	return cmd
}

// shown does something with the screen that the flags ask for, where its error is told, too.
func (f *runFlags) shown(cmd *cobra.Command, do func(*cobra.Command, *screen.Screen) error) error {
	out, err := f.open(cmd)
	if err != nil {
		return err
	}
	f.Say = out.Say
	stop, err := f.measured.serve(cmd, func() *metrics.Set { f.Metrics = metrics.New(); return f.Metrics })
	if err != nil {
		return out.Annotate(exit.Misuse(err))
	}
	defer stop()
	return out.Annotate(do(cmd, out))
}

// run runs everything and reports; its error carries the exit status.
func (f *runFlags) run(cmd *cobra.Command, out *screen.Screen) error {
	ctx := cmd.Context()
	if err := f.check(cmd.Flags()); err != nil {
		return err
	}
	if err := f.sinceRun(); err != nil {
		return err
	}
	if f.Only.LastFailed {
		if err := f.recall(cmd); err != nil || len(f.Last.Plans) == 0 {
			return err
		}
	}
	if f.shards > 0 && !f.dry {
		return f.runShards(cmd, out)
	}
	if f.Only.LastFailed || f.Plan != "" {
		f.consent = f.confirm(cmd)
	}
	p, err := f.Plans(ctx)
	if err != nil || len(p.Plans) == 0 { // nothing has changed
		return err
	}
	f.NoExpect = f.NoExpect || f.unexpected()
	f.Places = ours().PlacesOf(f.Names, f.Plan)
	return f.carryOut(ctx, cmd.OutOrStdout(), p.Name, p.Plans, func(where runtimes.Runtime) error {
		if f.repeat == 1 {
			s := &runs.Run{Settings: f.complete(), Where: where, Name: p.Name, About: p.About, Plans: p.Plans,
				Command: f.commandLine(), Screen: out}
			return f.then.Found(ctx, s, s.Do(ctx))
		}
		s := &experiments.Series{Settings: f.complete(), Repeat: f.repeat, Until: f.until, Where: where, Screen: out,
			Draw: p.Draw, Whole: f.commandLine() + f.repeatFlags.words(),
			Command: func(seed uint64, dir string) string {
				if f.Plan != "" {
					return reports.Shell(os.Args[0], "rerun", dir)
				}
				again := *f
				again.Seed = seed
				return again.commandLine()
			}}
		return s.Do(ctx, p.Name, p.About, p.Plans)
	})
}

// sinceRun reads the run that --only-changed-since names.
func (f *runFlags) sinceRun() (err error) {
	switch {
	case f.since == "":
		return nil
	case f.Only.LastFailed || f.Plan != "" || f.Random() || f.shards > 0:
		return exit.Misuse(fmt.Errorf("--only-changed-since looks at named scenarios: give no --plan, --last-failed or --shards beside it, and no suite %s", pick.Random))
	}
	f.Since, err = ours().ReadEarlierRun(f.since)
	return err
}

// recall finds what failed in the latest run, and takes over where and how it
// was run. Where nothing failed it says so.
func (f *runFlags) recall(cmd *cobra.Command) (err error) {
	if f.Last, err = ours().LastFailed(f.Out); err != nil {
		return err
	}
	if len(f.Last.Plans) == 0 {
		harmless.Fprintf(cmd.OutOrStdout(), "Nothing is to be run: all %d scenarios of %s came out as they should.\n",
			f.Last.Of, f.Last.Dir)
		return nil
	}
	// as the run's own "again" says
	f.NoExpect = f.NoExpect || f.Last.Run.NoExpect || f.Last.Run.Policy != nil
	if err := f.sameWhere(cmd, f.Last.Run); err != nil {
		return err
	}
	return f.checkWhere()
}

// carryOut cuts the plans into shards, and does what is to be done with them where the flags say,
// unless they want to know beforehand what that is.
func (f *runFlags) carryOut(ctx context.Context, w io.Writer, name string, plans []scenarios.Plan,
	do func(runtimes.Runtime) error) error {
	if err := runs.WithoutSecrets(plans); err != nil {
		return err
	}
	if err := f.Shard.Cut(plans, func(i int) time.Duration { return scenarios.LengthOf(plans[i]) }); err != nil {
		return err
	}
	part := f.Shard.Part(plans)
	if f.dry {
		return f.Preview(w, name, part, f.repeat, f.until)
	}
	return f.there(ctx, part, f.Say, do)
}

// there does something with plans where the flags say.
func (f *runFlags) there(ctx context.Context, plans []scenarios.Plan, say func(string),
	do func(runtimes.Runtime) error) error {
	if err := runs.WithoutSecrets(plans); err != nil {
		return err
	}
	if f.consent != nil {
		var chosen []string // by who saved the run
		if f.taken {
			chosen = f.elsewhere()
		}
		if err := f.consent(runs.Starts(plans, chosen)); err != nil {
			return err
		}
	}
	runs.Remember(runs.Starts(plans, f.elsewhere()))
	where, err := runtimes.Choose(ctx, f.Where, ours().KindOf, plans, say)
	if err != nil {
		return err
	}
	if most := where.Traits().Most; most > 0 {
		f.Parallel, f.Steady = min(f.Parallel, most), min(f.Steady, most)
	}
	return errors.Join(do(where), where.Close())
}

// elsewhere are the words that choose where to run, unless that is in networks
// of this machine's own.
func (f *runFlags) elsewhere() []string {
	if f.Runtime == runtimes.Local || f.Runtime == runtimes.Virtual {
		return nil
	}
	return f.whereWords()
}

// unexpected reports whether nothing says what is to be expected: the scenarios
// were written for other locks than that of --lock-cmd.
func (f *runFlags) unexpected() bool {
	return f.Own.Given() && !f.Inherent && !f.Random()
}
