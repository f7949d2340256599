package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/policy"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/runtimes"
	"github.com/lockchaos/lockchaos/runs/screen"
	"github.com/lockchaos/lockchaos/scenarios"
	"github.com/lockchaos/lockchaos/spelling"
)

func gateCommand() *cobra.Command {
	f := runFlags{scale: scaleTest, repeatFlags: repeatFlags{repeat: 1}}
	cmd := &cobra.Command{
		Use:   "gate [FILE]",
		Short: "Run what a policy asks for, and say whether it is good enough",
		Long: `Reads a policy (` + policy.DefaultFile + `, or FILE), runs its scenarios as often as it wants, and rules on them: which properties must hold, which violations are
known and until when, and what is done about what is left open. docs/ci.md explains the file; ` + "`lockchaos init`" + ` writes one.

The run's folder holds, beside what every run leaves, gate.json: the ruling and its findings. The repetitions of a scenario have seeds that follow each other.

Exit status: 0 the gate is passed; 1 a property that must hold was violated, or a known violation has expired; 2 something is left open, and the policy does not
let that pass; 3 the harness or a service failed; 64 a mistake in the policy or on the command line.`,
		Example: `  lockchaos init && lockchaos gate
  lockchaos gate --dry-run
  lockchaos gate ci/locks.yaml --format github
  lockchaos gate --seed 7 --runtime docker`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Misuse(errors.New("gate takes one policy"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			file := policy.DefaultFile
			if len(args) > 0 {
				file = args[0]
			}
			f.crowd(cmd.Flags())
			return runGate(cmd, file, f)
		},
	}
	flags := cmd.Flags()
	f.addWhere(flags)
	f.addEffort(flags)
	f.addCompress(flags)
	flags.Uint64Var(&f.seed, "seed", 0, "seed of the first repetition (default: the policy's, else a new one, printed)")
	f.addDryRun(flags)
	f.addShard(flags)
	f.outputFlags.add(flags)
	return cmd
}

// gate is one run under a policy: its repetitions side by side, each a run of its own.
type gate struct {
	runFlags
	file    string
	command string // that runs it again
	where   runtimes.Runtime
	screen  *screen.Screen

	dir      string
	began    time.Time
	elapsed  time.Duration // 0: it goes on
	deadline time.Time     // zero: none
	alone    sync.RWMutex  // of the last tries
	mu       sync.Mutex    // guards what follows
	runs     []gateRun
	errs     []error
}

// gateRun is one repetition that has ended; dir is its folder inside the gate's.
type gateRun struct {
	dir   string
	suite reports.Suite
}

func runGate(cmd *cobra.Command, file string, f runFlags) (err error) {
	ctx := cmd.Context()
	out, err := f.open(cmd)
	if err != nil {
		return err
	}
	defer func() { err = out.Annotate(err) }()
	if err := f.checkWhere(); err != nil {
		return err
	}
	if f.policy, f.places, err = loadPolicy(ctx, file, f, out.Say); err != nil {
		return exit.Misuse(err)
	}
	if r := f.policy.Retries; r != nil && !cmd.Flags().Changed("retries") {
		f.retries = *r
	}
	switch {
	case cmd.Flags().Changed("seed"):
	case f.policy.Seed != nil:
		f.seed = *f.policy.Seed
	default:
		f.seed = f.shard.seed()
	}
	for i := range f.policy.Runs {
		one := []scenarios.Plan{{Scenario: f.policy.Runs[i].Scenario}}
		if err := withoutSecrets(one); err != nil {
			return err
		}
		f.policy.Runs[i].Scenario = one[0].Scenario
	}
	g := &gate{runFlags: f, file: file, screen: out}
	if err := g.shard.cut(g.plans(0), func(i int) time.Duration {
		return scenarios.LengthOf(scenarios.Plan{Scenario: f.policy.Runs[i].Scenario}) * time.Duration(f.policy.Runs[i].Repetitions)
	}); err != nil {
		return err
	}
	if f.dry {
		return g.dryRun(cmd.OutOrStdout())
	}
	again := append([]string{os.Args[0], "gate", file, "--seed", strconv.FormatUint(f.seed, 10)}, f.whereWords()...)
	g.command = reports.Shell(append(again, f.shard.words()...)...)
	if g.where, err = runtimes.Choose(ctx, f.Where, kindOf, g.shard.part(g.plans(0)), out.Say); err != nil {
		return err
	}
	if f.Runtime == runtimes.Compose {
		g.parallel = 1 // its services are there once
	}
	return errors.Join(g.run(ctx), g.where.Close())
}

// loadPolicy reads a policy, with the place of each of its scenarios: the line in the file of a user's own, else the policy's line that names it. A lock of the user's own
// is met once, where the flags say that the run is to be.
func loadPolicy(ctx context.Context, file string, f runFlags, say func(string)) (*policy.Policy, map[string]scenarios.Place, error) {
	known := catalogue()
	c := policy.Catalogue{Services: append([]string{scenarios.NoService}, known.Services...)}
	places := map[string]scenarios.Place{}
	var own *ownLock
	c.Meet = func(lock policy.Lock) (err error) {
		f.lockCmd, f.service, f.ttl = lock.Command, lock.Service, lock.TTL.Std()
		own, err = f.meet(ctx, say)
		return err
	}
	c.Find = func(word string) ([]scenarios.Scenario, error) {
		if word == randomSuite {
			return nil, fmt.Errorf("suite %s is drawn anew for each seed, so a policy can't name what it shows: run it beside the gate", randomSuite)
		}
		if isFile(word) && !filepath.IsAbs(word) {
			word = filepath.Join(filepath.Dir(file), word) // as everything that a file names
		}
		chosen, err := choose([]string{word})
		if err != nil {
			return nil, err
		}
		if isFile(word) {
			for name, p := range placesOf([]string{word}, "") {
				if !p.Builtin {
					places[name] = p
				}
			}
		}
		if own == nil {
			return chosen.scenarios, nil
		}
		chosen, err = own.replacing(chosen, say)
		return chosen.scenarios, err
	}
	var can map[string]bool // tried for the first exam
	c.Examine = func(e policy.Exam) (_ []scenarios.Scenario, err error) {
		if can == nil {
			if can, err = possibleFaults(ctx, f, say); err != nil {
				return nil, err
			}
		}
		return f.examined(e, own, can, say)
	}
	p, err := policy.Load(file, c)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range p.Runs {
		if _, own := places[r.Name]; !own {
			places[r.Name] = scenarios.Place{File: file, Line: r.Line}
		}
	}
	return p, places, nil
}

// examined are the attacks of an exam that a policy asks for; own is the policy's lock, can are the faults that can be done here. say tells which
// attacks make no sense, and why.
func (f runFlags) examined(e policy.Exam, own *ownLock, can map[string]bool, say func(string)) ([]scenarios.Scenario, error) {
	x := examFlags{runFlags: f, short: e.Short, attacks: e.Attacks}
	table, err := x.table()
	if err != nil {
		return nil, err
	}
	var lock scenarios.Examinee
	if e.Lock == policy.ExamOwn {
		lock = own.examinee()
	} else if lock, err = builtinExaminee(e.Lock, 0); err != nil {
		return nil, err
	}
	all, not, err := x.attacksOn(lock, table, can)
	if err != nil {
		return nil, err
	}
	for _, line := range reports.ExamOf(lock.Base.Lock, not).Inapplicable() {
		say(lock.Base.Lock + ": " + line)
	}
	return all, nil
}

// asked are the scenarios of the policy that the shard has.
func (g *gate) asked() []policy.Run {
	return slices.DeleteFunc(slices.Clone(g.policy.Runs), func(r policy.Run) bool { return !g.shard.takes(r.Name) })
}

// repetitions is how often the scenario of the shard is run that is run most often.
func (g *gate) repetitions() int {
	asked := *g.policy
	asked.Runs = g.asked()
	return asked.Repetitions()
}

// plans are those of one repetition of all shards, the first being 0: of the scenarios that are repeated so often.
func (g *gate) plans(repetition int) (all []scenarios.Plan) {
	for _, r := range g.policy.Runs {
		if r.Repetitions > repetition {
			all = append(all, scenarios.Plan{Seed: g.seed + uint64(repetition), Scenario: r.Scenario})
		}
	}
	return all
}

// run runs every repetition, then rules. Its error carries the exit status.
func (g *gate) run(ctx context.Context) error {
	g.began = time.Now()
	var err error
	if g.dir, err = makeRunDir(g.out, g.began); err != nil {
		return err
	}
	bounded := ctx
	if g.policy.Budget > 0 {
		g.deadline = g.began.Add(g.policy.Budget)
		var cancel context.CancelFunc
		bounded, cancel = context.WithDeadlineCause(ctx, g.deadline, &overBudget{g.policy.Budget})
		defer cancel()
	}
	repetitions := g.repetitions()
	g.begin(repetitions)
	places := make(chan struct{}, g.parallel)
	var running sync.WaitGroup
	for i := range repetitions {
		one, err := g.one(i, g.policy.Repetitions()) // the folders of all shards are alike
		if err != nil {
			g.errs = append(g.errs, err)
			break
		}
		wait := one.launch(bounded, places)
		running.Go(func() { wait(); g.add(one) })
	}
	running.Wait()
	g.screen.Stop()
	g.elapsed = time.Since(g.began)
	return g.conclude(ctx.Err() != nil)
}

// one prepares a repetition.
func (g *gate) one(i, of int) (*suiteRun, error) {
	f := g.runFlags
	f.seed += uint64(i)
	one := &suiteRun{flags: f, where: g.where, name: "gate " + filepath.Base(g.file), about: "what the policy " + g.file + " asks for", plans: g.plans(i), screen: g.screen,
		command: g.command, late: g.late, alone: &g.alone}
	dir := g.dir
	if of > 1 {
		one.of = fmt.Sprintf(" (seed %d)", f.seed)
		dir = filepath.Join(dir, fmt.Sprintf("seed-%d", f.seed))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make the folder of a repetition: %w", err)
		}
	}
	one.prepare(dir, time.Now())
	one.record.Started = g.began.UTC().Truncate(time.Second) // one day for all
	return one, nil
}

// late says why a plan is not started: its workload would not end in time.
func (g *gate) late(p scenarios.Plan) string {
	if g.deadline.IsZero() {
		return ""
	}
	left, needs := time.Until(g.deadline), scenarios.LengthOf(p)
	if left >= needs {
		return ""
	}
	return fmt.Sprintf("not run: of the time budget of %v %v are left, and it takes some %v", g.policy.Budget, max(left, 0).Round(time.Second), needs)
}

func (g *gate) add(one *suiteRun) {
	suite, unwritten := one.finish()
	g.mu.Lock()
	defer g.mu.Unlock()
	if unwritten != nil {
		g.errs = append(g.errs, unwritten)
	}
	for i := range suite.Scenarios {
		suite.Scenarios[i].History = nil
	}
	dir, err := filepath.Rel(g.dir, one.dir)
	if err != nil {
		g.errs = append(g.errs, err)
	}
	g.runs = append(g.runs, gateRun{dir, suite})
	slices.SortFunc(g.runs, func(a, b gateRun) int { return int(int64(a.suite.Seed - b.suite.Seed)) })
}

// rules says how a policy takes a scenario: whether it asks for it, and whether it lets pass what it leaves open.
func (r scenarioRecord) rules(p *policy.Policy) (demanded, lenient bool) {
	if p == nil {
		return false, false
	}
	if r.Skipped != "" && !r.Late {
		return true, p.Skipped == policy.Warn
	}
	return true, p.Inconclusive == policy.Warn
}

// rule sets what was found beside what a policy demands. Of an attack of an exam, what the exam says of it counts.
func rule(out *reports.Scenario, p *policy.Policy, s scenarios.Scenario, now time.Time) {
	seen := seenOf(*out)
	if p.Examines(s.Name) {
		examined := *out
		compare(&examined, s.Expect, false, "")
		seen.Unclear = examined.LeftUnclear()
	}
	out.Met = true
	for _, r := range p.Judge(seen, s.Expect, now) {
		out.Expect = append(out.Expect, reports.Expectation{Property: r.Property, Want: r.Want, Got: r.Got, Met: r.Met, Known: r.Known, Note: r.Note})
		out.Met = out.Met && r.Met
		if r.Known != "" {
			out.Why = r.Known // for the pages: this is why it passes
		}
	}
	out.Met = out.Met && len(out.Expect) > 0
}

// seenOf is what a scenario showed, as a policy sees it.
func seenOf(sc reports.Scenario) policy.Seen {
	s := policy.Seen{Scenario: sc.Name, Ran: sc.Failed == "" && sc.Skipped == "", Properties: observed(sc.Verdict), Severity: sc.Verdict.Severity.String(), Why: map[string]string{}}
	for _, p := range sc.Verdict.Properties {
		s.Why[p.Name] = p.Why
	}
	return s
}

// begin begins the screen of a gate.
func (g *gate) begin(repetitions int) {
	asked := g.asked()
	total, column := 0, 0
	for _, r := range asked {
		total += r.Repetitions
		column = max(column, len(r.Name))
	}
	if repetitions > 1 {
		column += len(fmt.Sprintf(" (seed %d)", g.seed+uint64(repetitions)))
	}
	suite := reports.Suite{Version: version, Name: titled("gate "+g.file, g.shard.String()), Runtime: g.where.About(), Seed: g.seed}
	g.screen.Start(suite, total, g.parallel, column, func(out io.Writer) {
		harmless.Fprintf(out, "lockchaos %s · %s · %s · seed %d\n", version, suite.Name, suite.Runtime, g.seed)
		harmless.Fprintf(out, "%d scenario%s, %d run%s, %d at once, %s", len(asked), spelling.Plural(len(asked)), total, spelling.Plural(total), min(g.parallel, total),
			scenarios.Estimate(scenarios.LengthOfAll(g.everyPlan(), g.parallel)))
		if g.policy.Budget > 0 {
			harmless.Fprintf(out, ", %v at most", g.policy.Budget)
		}
		io.WriteString(out, "\n\n")
	})
}
