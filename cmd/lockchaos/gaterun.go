package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/policy"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs/runtimes"
	"github.com/lockchaos/lockchaos/runs/screen"
	"github.com/lockchaos/lockchaos/scenarios"
	"github.com/lockchaos/lockchaos/spelling"
)

// gate is one run under a policy: its repetitions side by side, each a run of its own.
type gate struct {
	settings
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
	f := g.settings
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
	suite := reports.Suite{Version: g.tool.version, Name: titled("gate "+g.file, g.shard.String()), Runtime: g.where.About(), Seed: g.seed}
	g.screen.Start(suite, total, g.parallel, column, func(out io.Writer) {
		harmless.Fprintf(out, "lockchaos %s · %s · %s · seed %d\n", g.tool.version, suite.Name, suite.Runtime, g.seed)
		harmless.Fprintf(out, "%d scenario%s, %d run%s, %d at once, %s", len(asked), spelling.Plural(len(asked)), total, spelling.Plural(total), min(g.parallel, total),
			scenarios.Estimate(scenarios.LengthOfAll(g.everyPlan(), g.parallel)))
		if g.policy.Budget > 0 {
			harmless.Fprintf(out, ", %v at most", g.policy.Budget)
		}
		io.WriteString(out, "\n\n")
	})
}

// everyPlan are the plans of all repetitions.
func (g *gate) everyPlan() (all []scenarios.Plan) {
	for i := range g.repetitions() {
		all = append(all, g.shard.part(g.plans(i))...)
	}
	return all
}
