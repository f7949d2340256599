package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/experiments"
	"github.com/lockchaos/lockchaos/policy"
	"github.com/lockchaos/lockchaos/redact"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/runtimes"
	"github.com/lockchaos/lockchaos/scenarios"
)

// runFlags are the settings of `lockchaos run`.
type runFlags struct {
	runtimes.Where
	runs.Settings
	duration time.Duration
	// durationGiven: 0 is no length, and not the default of a flag that was given.
	durationGiven bool
	plan          string
	scale         string
	inherent      bool
	dry           bool
	only          selection
	last          *runs.FailedRun // of --last-failed
	locks         []string
	// lockCmd, service and ttl are of the user's own lock.
	lockCmd, service string
	ttl              time.Duration
	repeatFlags
	outputFlags
}

// complete returns the settings of a run with these flags.
func (f runFlags) complete() runs.Settings {
	s := f.Settings
	s.Tool, s.Words = ours(), f.whereWords()
	return s
}

// The scales of `--scale`.
const (
	scaleTest = "test" // the scenario's own times
	scaleReal = "real" // those of production
)

func runCommand() *cobra.Command {
	var f runFlags
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

On a busy machine a scenario may show nothing. It is then run again, up to --retries times, the last
time alone. Each try stays in the folder.

--lock and --fault select some of the named scenarios. --last-failed takes those of the latest run
that did not come out as they should, as they were run. --dry-run says what would run and how long
that takes.

--shard 3/8 runs the third of eight parts, cut by planned length, in the same way on every machine
for the same command. Run each part on a machine of its own; lockchaos report --merge then makes one
report of all parts.

--repeat runs everything again and again, with other seeds. At the end it prints a table of the
verdicts by seed, with the rate of violated runs and its confidence interval. Each repetition keeps
its folder. The exit status is the worst of all.

With --lock-cmd a program of your own, in any language, takes the place of the scenarios' locks (see
` + "`lockchaos adapter`" + `). In every suite but "random" the properties alone judge it. With --inherent the
report names what no lease prevents, and the run does not fail for it: a holder that acts after the
end of its lease, and the harm that it does to a store without a fence. A defect of the lock still
fails the run, and an inconclusive property stays inconclusive.

Environment variables:
  ` + runtimes.EnvironmentVar + `            the default of --runtime
  ` + runtimes.ImageVar("redis") + `        an image, as --image redis=IMAGE (and so on, for each service)
  ` + backends.RedisVar + `              the program that runs as redis-server, or "miniredis", a stand-in
  ` + backends.PostgresVar + `           the folder of postgres and initdb
  ` + adapter.MemoryVar + `     the memory that each client's adapter may use, with all that it starts, such as 4GB (default: 1GB)`,
		Example: `  lockchaos run
  lockchaos run redis-setnx/pause-holder/unfenced --no-expect
  lockchaos run etcd-lease --seed 7
  lockchaos run redis-setnx-fenced/pause-holder --scale real
  lockchaos run full --lock redlock,redsync --fault pause --dry-run
  lockchaos run full --shard 3/8
  lockchaos run --last-failed
  lockchaos run redlock --repeat 20 --until violated
  lockchaos run my-scenarios.yaml
  lockchaos run random --seed 7 --duration 60s --locks all
  lockchaos run quick --lock-cmd "python3 my_lock.py" --service redis --inherent
  lockchaos run random --lock-cmd "python3 my_lock.py" --service redis --duration 20s`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("seed") {
				f.Seed = f.Shard.Seed()
			}
			f.durationGiven = cmd.Flags().Changed("duration")
			f.crowd(cmd.Flags())
			return runSuite(cmd.Context(), cmd, args, f)
		},
	}
	flags := cmd.Flags()
	f.addWhere(flags)
	f.addEffort(flags)
	f.addCompress(flags)
	flags.Uint64Var(&f.Seed, "seed", 0, "seed of every random draw (default: a new one, printed)")
	flags.DurationVar(&f.duration, "duration", 0, "length of each workload (default: the scenario's own)")
	flags.StringVar(&f.plan, "plan", "", "run a saved plan.yaml again, instead of named scenarios")
	flags.StringSliceVar(&f.locks, "locks", nil, `of the suite random: locks by their names, or "all" (the default), which are all that are not broken on purpose`)
	f.only.add(cmd)
	f.addDryRun(flags)
	f.addShard(flags)
	flags.StringVar(&f.scale, "scale", scaleTest, `"test": the scenario's own, short times; "real": those of production, a TTL of 10 s and a holder that is frozen for 30 s`)
	flags.StringVar(&f.lockCmd, "lock-cmd", "", "command line of a lock of your own, which takes the place of the scenarios' locks (docs/protocol.md)")
	flags.StringVar(&f.service, "service", "", `the service that the lock of --lock-cmd uses (lockchaos list services), or "none"`)
	flags.DurationVar(&f.ttl, "ttl", 0, "TTL of the lock of --lock-cmd; faults and workloads are stretched with it (default: the scenario's; etcd, zookeeper 2s)")
	f.repeatFlags.add(flags)
	f.outputFlags.add(flags)
	flags.BoolVar(&f.NoExpect, "no-expect", false, "judge by the properties alone, whatever the scenario expects")
	flags.BoolVar(&f.inherent, "inherent", false, "expect of every lock what no lease prevents: a holder that is late, and the harm that it does to a store without a fence; all else fails")
	return cmd
}

// whereFlags are those that say where to run.
var whereFlags = []string{"runtime", "image", "project", "nodes"}

// addWhere adds the flags of every command that runs plans: where, how many at once, and where to write.
func (f *runFlags) addWhere(flags *pflag.FlagSet) {
	flags.StringVar(&f.Runtime, "runtime", runtimes.Default(), `where hosts live: "local" is a private network of namespaces, "docker" starts containers, "compose" joins a
project that runs, "external" uses servers at the addresses of --nodes; "auto" takes docker if an engine answers and has the images, else local`)
	flags.StringArrayVar(&f.Images, "image", nil, "image for a service's containers, as redis=IMAGE (may be repeated)")
	flags.StringVar(&f.Project, "project", "", "compose project, by its name or folder (default: that of this folder)")
	flags.StringSliceVar(&f.Nodes, "nodes", nil, "which services of the project are which nodes, as redis-1=my-redis,…; of --runtime external the addresses of the nodes, as redis=127.0.0.1:6379")
	flags.IntVar(&f.Parallel, "parallel", runs.DefaultParallel(), "how many scenarios run at once")
	flags.StringVar(&f.Out, "out", "runs", "folder for the runs' folders")
}

// addCompress adds the flag of every command that keeps the histories of what it runs.
func (f *runFlags) addCompress(flags *pflag.FlagSet) {
	flags.BoolVar(&f.Compress, "compress", false, "compress each history when its scenario is over (history.jsonl.zst, about a sixth); every command reads it as it is")
}

// addDryRun adds the flag of every command that says beforehand what it would run.
func (f *runFlags) addDryRun(flags *pflag.FlagSet) {
	flags.BoolVar(&f.dry, "dry-run", false, "say what would run, and how long it takes; run nothing")
}

// checkWhere refuses what makes no sense of these.
func (f runFlags) checkWhere() error {
	if !slices.Contains(runtimes.Names(), f.Runtime) {
		return exit.Misuse(fmt.Errorf("unknown runtime %q%s (there are %s)", f.Runtime, suggest(f.Runtime, runtimes.Names()), strings.Join(runtimes.Names(), ", ")))
	}
	if f.Parallel < 1 {
		return exit.Misuse(fmt.Errorf("--parallel %d: at least one scenario must run", f.Parallel))
	}
	if f.Retries < 0 || f.Retries > policy.MostRetries {
		return exit.Misuse(fmt.Errorf("--retries %d: what came to nothing is run again 0 to %d times", f.Retries, policy.MostRetries))
	}
	return f.checkDryRun()
}

// planned is what is to be run.
type planned struct {
	name, about string
	plans       []scenarios.Plan
	// draw makes the plans of another seed.
	draw func(seed uint64) ([]scenarios.Plan, error)
}

// fixed is what is to be run, where nothing but the seed of its plans changes.
func fixed(name, about string, plans []scenarios.Plan) planned {
	return planned{name, about, plans, func(seed uint64) ([]scenarios.Plan, error) {
		again := slices.Clone(plans)
		for i := range again {
			again[i].Seed = seed
		}
		return again, nil
	}}
}

// drawn is what is to be run, where all of it is drawn from the seed.
func (f runFlags) drawn(ctx context.Context, say func(string)) (planned, error) {
	d, err := newDraw(ctx, f, say)
	if err != nil {
		return planned{}, err
	}
	plans, err := d.plans(f.Seed, say)
	return planned{randomSuite, "faults drawn at random from the seed, mixed and combined, against each lock", plans,
		func(seed uint64) ([]scenarios.Plan, error) {
			return d.plans(seed, func(string) {}) // what is left out has been told
		}}, err
}

// plans turns flags and words into what is to be run.
func (f runFlags) plans(ctx context.Context, words []string, say func(string)) (planned, error) {
	if err := f.checkWhere(); err != nil {
		return planned{}, err
	}
	if f.durationGiven && f.duration <= 0 {
		return planned{}, exit.Misuse(fmt.Errorf("--duration %v: a workload must last longer than 0", f.duration))
	}
	if f.scale != scaleTest && f.scale != scaleReal {
		return planned{}, exit.Misuse(fmt.Errorf("unknown --scale %q: test or real", f.scale))
	}
	if err := errors.Join(f.ownLock(), f.only.check(), f.checkInherent(words)); err != nil {
		return planned{}, err
	}
	if f.last != nil {
		plans, err := f.recalled(words)
		return fixed(f.last.Title(), "what did not come out as it should", plans), err
	}
	if f.plan != "" {
		if len(words) > 0 || len(f.locks) > 0 {
			return planned{}, exit.Misuse(fmt.Errorf("--plan runs a saved plan: give no names beside it"))
		}
		p, err := scenarios.LoadPlan(f.plan, catalogue())
		if err != nil {
			return planned{}, exit.Misuse(err)
		}
		return fixed(p.Scenario.Name, p.Scenario.About, []scenarios.Plan{f.timed(*p)}), nil
	}
	if f.random(words) && f.lockCmd != "" && len(f.locks) > 0 {
		return planned{}, exit.Misuse(errors.New("--locks chooses among the locks of lockchaos: give no --lock-cmd beside it"))
	}
	if len(f.only.words()) > 0 && f.random(words) {
		return planned{}, exit.Misuse(fmt.Errorf("suite %s is drawn for each lock: --locks chooses them, and --lock and --fault are for other suites", randomSuite))
	}
	if f.random(words) {
		return f.drawn(ctx, say)
	}
	if len(f.locks) > 0 || slices.Contains(words, randomSuite) {
		return planned{}, exit.Misuse(fmt.Errorf("suite %s is drawn, and --locks is for it alone: give no other names beside it", randomSuite))
	}
	c, err := choose(words)
	if err == nil {
		c.Scenarios, err = f.only.of(c.Scenarios)
	}
	if err == nil && f.lockCmd != "" {
		c, err = f.adapt(ctx, c, say)
	}
	if err != nil {
		return planned{}, err
	}
	var plans []scenarios.Plan
	for _, s := range c.Scenarios {
		if f.inherent && f.lockCmd == "" {
			if s, err = inherently(s); err != nil {
				return planned{}, err
			}
		}
		plans = append(plans, f.timed(scenarios.Plan{Seed: f.Seed, Scenario: s}))
	}
	return fixed(c.Name, c.About, plans), nil
}

// random tells whether the suite is wanted that is drawn from the seed.
func (f runFlags) random(words []string) bool {
	return f.plan == "" && !f.only.lastFailed && len(words) == 1 && words[0] == randomSuite
}

// ownLock checks the flags about a lock of the user's own.
func (f runFlags) ownLock() error {
	switch {
	case f.lockCmd == "" && (f.service != "" || f.ttl != 0):
		return exit.Misuse(fmt.Errorf("--service and --ttl are for the lock of --lock-cmd"))
	case redact.Lacking(f.lockCmd) != "":
		return exit.Misuse(fmt.Errorf("--lock-cmd: %s is not set in the environment: it is the password that the command line had, which was not saved", redact.Lacking(f.lockCmd)))
	case f.lockCmd != "" && f.plan != "":
		return exit.Misuse(fmt.Errorf("--plan runs a saved plan, which has its lock: give no --lock-cmd beside it"))
	case f.lockCmd != "" && !f.Here() && f.Runtime != runtimes.Auto:
		return runtimes.OnlyHere("--lock-cmd", f.Runtime)
	}
	return checkTTL(f.ttl)
}

// checkTTL refuses a --ttl that makes no sense; 0: none was given.
func checkTTL(ttl time.Duration) error {
	if ttl < 0 || ttl > 0 && ttl < time.Millisecond {
		return exit.Misuse(fmt.Errorf("--ttl %v: a lease must last a millisecond or longer", ttl))
	}
	return nil
}

// timed sets a plan's times as the flags want them.
func (f runFlags) timed(p scenarios.Plan) scenarios.Plan {
	if f.scale == scaleReal {
		p = p.Real()
	}
	if f.duration > 0 {
		p.Scenario.Duration = scenarios.Duration(f.duration)
	}
	return p
}

// runSuite runs everything and reports; its error carries the exit status.
func runSuite(ctx context.Context, cmd *cobra.Command, words []string, f runFlags) (err error) {
	out, err := f.open(cmd)
	if err != nil {
		return err
	}
	defer func() { err = out.Annotate(err) }()
	if err := f.repeatFlags.check(f.Shard.Total > 0); err != nil {
		return err
	}
	safe, err := redact.Command(f.lockCmd) // it is saved, and shown, with the plans
	if err != nil {
		return exit.Misuse(fmt.Errorf("--lock-cmd: %w", err))
	}
	f.lockCmd = safe
	if f.only.lastFailed {
		if err := f.recall(cmd, words); err != nil || len(f.last.Plans) == 0 {
			return err
		}
	}
	p, err := f.plans(ctx, words, out.Say)
	if err != nil {
		return err
	}
	if err := runs.WithoutSecrets(p.plans); err != nil {
		return err
	}
	if err := f.Shard.Cut(p.plans, func(i int) time.Duration { return scenarios.LengthOf(p.plans[i]) }); err != nil {
		return err
	}
	part := f.Shard.Part(p.plans)
	f.NoExpect = f.NoExpect || f.unexpected(words)
	if f.dry {
		return dryRun(cmd.OutOrStdout(), p.name, part, f)
	}
	f.Places = ours().PlacesOf(words, f.plan)
	where, err := runtimes.Choose(ctx, f.Where, kindOf, part, out.Say)
	if err != nil {
		return err
	}
	if f.Runtime == runtimes.Compose {
		f.Parallel = 1 // its services are there once
	}
	if f.repeat > 1 {
		s := &experiments.Series{Settings: f.complete(), Repeat: f.repeat, Until: f.until, Where: where, Screen: out, Draw: p.draw, Whole: repeatedCommand(words, f),
			Command: func(seed uint64, dir string) string {
				if f.plan != "" {
					return reports.Shell(os.Args[0], "rerun", dir)
				}
				again := f
				again.Seed = seed
				return commandLine(words, again)
			}}
		return errors.Join(s.Do(ctx, p.name, p.about, p.plans), where.Close())
	}
	s := &runs.Run{Settings: f.complete(), Where: where, Name: p.name, About: p.about, Plans: p.plans, Command: commandLine(words, f), Screen: out}
	return errors.Join(s.Do(ctx), where.Close())
}

// unexpected reports whether nothing says what is to be expected: the scenarios were written for other locks than that of --lock-cmd.
func (f runFlags) unexpected(words []string) bool {
	return f.lockCmd != "" && !f.inherent && !f.random(words)
}

// commandLine is what the user would type to have the same again.
func commandLine(words []string, f runFlags) string {
	line := append(append([]string{os.Args[0], "run"}, words...), f.only.words()...)
	if f.plan != "" {
		line = append(line, "--plan", f.plan)
	} else {
		line = append(line, "--seed", strconv.FormatUint(f.Seed, 10))
	}
	if len(f.locks) > 0 {
		line = append(line, "--locks", strings.Join(f.locks, ","))
	}
	if f.duration > 0 {
		line = append(line, "--duration", f.duration.String())
	}
	if f.scale == scaleReal {
		line = append(line, "--scale", f.scale)
	}
	line = append(line, f.lockWords()...)
	if f.NoExpect && !f.unexpected(words) {
		line = append(line, "--no-expect")
	}
	if f.inherent {
		line = append(line, "--inherent")
	}
	return reports.Shell(append(append(line, f.whereWords()...), f.Shard.Words()...)...)
}

// repeatedCommand is what the user would type to repeat the same again.
func repeatedCommand(words []string, f runFlags) string {
	line := commandLine(words, f) + " --repeat " + strconv.Itoa(f.repeat)
	if f.until != "" {
		line += " --until " + reports.Shell(f.until)
	}
	return line
}

// lockWords are the words that choose the lock again.
func (f runFlags) lockWords() (line []string) {
	if f.lockCmd != "" {
		line = append(line, "--lock-cmd", f.lockCmd, "--service", f.service) // without its secrets, by now
	}
	if f.ttl > 0 {
		line = append(line, "--ttl", f.ttl.String())
	}
	return line
}

// where are the words that choose the runtime again.
func (f runFlags) whereWords() (line []string) {
	if f.Runtime != runtimes.Auto {
		line = append(line, "--runtime", f.Runtime)
	}
	for _, image := range f.Images {
		line = append(line, "--image", image)
	}
	if f.Project != "" {
		line = append(line, "--project", f.Project)
	}
	if len(f.Nodes) > 0 {
		line = append(line, "--nodes", strings.Join(redact.All(f.Nodes), ","))
	}
	return line
}
