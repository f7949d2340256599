package runs

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/policy"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Gate is one run under a policy: its repetitions side by side, each a run of its own.
type Gate struct {
	Settings
	File    string
	Command string // that runs it again
	Where   Runtime
	Screen  *screen.Screen

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

// Asked are the scenarios of the policy that the shard has.
func (g *Gate) Asked() []policy.Run {
	return slices.DeleteFunc(slices.Clone(g.Policy.Runs), func(r policy.Run) bool { return !g.Shard.takes(r.Name) })
}

// repetitions is how often the scenario of the shard is run that is run most often.
func (g *Gate) repetitions() int {
	asked := *g.Policy
	asked.Runs = g.Asked()
	return asked.Repetitions()
}

// Plans are those of one repetition of all shards, the first being 0: of the
// scenarios that are repeated so often.
func (g *Gate) Plans(repetition int) (all []scenarios.Plan) {
	for _, r := range g.Policy.Runs {
		if r.Repetitions > repetition {
			all = append(all, scenarios.Plan{Seed: g.Seed + uint64(repetition), Scenario: r.Scenario})
		}
	}
	return all
}

// Do runs every repetition, then rules. Its error carries the exit status.
func (g *Gate) Do(ctx context.Context) error {
	g.began = time.Now()
	var err error
	if g.dir, err = MakeFolder(g.Out, g.began); err != nil {
		return err
	}
	bounded := ctx
	if g.Policy.Budget > 0 {
		g.deadline = g.began.Add(g.Policy.Budget)
		var cancel context.CancelFunc
		bounded, cancel = context.WithDeadlineCause(ctx, g.deadline, &overBudget{g.Policy.Budget})
		defer cancel()
	}
	repetitions := g.repetitions()
	g.begin(repetitions)
	places := make(chan struct{}, g.Parallel)
	var running sync.WaitGroup
	for i := range repetitions {
		one, err := g.prepare(i, g.Policy.Repetitions()) // the folders of all shards are alike
		if err != nil {
			g.errs = append(g.errs, err)
			break
		}
		wait := one.Launch(bounded, places)
		running.Go(func() { wait(); g.add(one) })
	}
	running.Wait()
	g.Screen.Stop()
	g.elapsed = time.Since(g.began)
	return g.rule(ctx.Err() != nil)
}

// prepare prepares a repetition.
func (g *Gate) prepare(i, of int) (*Run, error) {
	f := g.Settings
	f.Seed += uint64(i)
	one := &Run{Settings: f, Where: g.Where, Name: "gate " + filepath.Base(g.File),
		About: "what the policy " + g.File + " asks for", Plans: g.Plans(i), Screen: g.Screen,
		Command: g.Command, late: g.late, Alone: &g.alone}
	dir := g.dir
	if of > 1 {
		one.Label = fmt.Sprintf(" (seed %d)", f.Seed)
		dir = filepath.Join(dir, fmt.Sprintf("seed-%d", f.Seed))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make the folder of a repetition: %w", err)
		}
	}
	one.Prepare(dir, time.Now())
	one.record.Started = g.began.UTC().Truncate(time.Second) // one day for all
	return one, nil
}

// late says why a plan is not started: its workload would not end in time.
func (g *Gate) late(p scenarios.Plan) string {
	if g.deadline.IsZero() {
		return ""
	}
	left, needs := time.Until(g.deadline), scenarios.LengthOf(p)
	if left >= needs {
		return ""
	}
	return fmt.Sprintf("not run: of the time budget of %v %v are left, and it takes some %v", g.Policy.Budget,
		max(left, 0).Round(time.Second), needs)
}

func (g *Gate) add(one *Run) {
	suite, unwritten := one.Finish()
	g.mu.Lock()
	defer g.mu.Unlock()
	if unwritten != nil {
		g.errs = append(g.errs, unwritten)
	}
	for i := range suite.Scenarios {
		suite.Scenarios[i].History = nil
	}
	dir, err := filepath.Rel(g.dir, one.Dir)
	if err != nil {
		g.errs = append(g.errs, err)
	}
	g.runs = append(g.runs, gateRun{dir, suite})
	slices.SortFunc(g.runs, func(a, b gateRun) int { return int(int64(a.suite.Seed - b.suite.Seed)) })
}

// rules says how a policy takes a scenario: whether it asks for it, and whether
// it lets pass what it leaves open.
func (r ScenarioRecord) rules(p *policy.Policy) (demanded, lenient bool) {
	if p == nil {
		return false, false
	}
	if r.Skipped != "" && !r.Late {
		return true, p.Skipped == policy.Warn
	}
	return true, p.Inconclusive == policy.Warn
}

// rule sets what was found beside what a policy demands. Of an attack of an
// exam, what the exam says of it counts.
func rule(out *reports.Scenario, p *policy.Policy, s scenarios.Scenario, now time.Time) {
	seen := seenOf(*out)
	if p.Examines(s.Name) {
		examined := *out
		compare(&examined, s.Expect, false, "")
		seen.Unclear = examined.LeftUnclear()
	}
	out.Met = true
	for _, r := range p.Judge(seen, s.Expect, now) {
		out.Expect = append(out.Expect, reports.Expectation{Property: r.Property, Want: r.Want, Got: r.Got, Met: r.Met,
			Known: r.Known, Note: r.Note})
		out.Met = out.Met && r.Met
		if r.Known != "" {
			out.Why = r.Known // for the pages: this is why it passes
		}
	}
	out.Met = out.Met && len(out.Expect) > 0
}

// seenOf is what a scenario showed, as a policy sees it.
func seenOf(sc reports.Scenario) policy.Seen {
	s := policy.Seen{Scenario: sc.Name, Ran: sc.Failed == "" && sc.Skipped == "", Properties: observed(sc.Verdict),
		Severity: sc.Verdict.Severity.String(), Why: map[string]string{}}
	for _, p := range sc.Verdict.Properties {
		s.Why[p.Name] = p.Why
	}
	return s
}

// begin begins the screen of a gate.
func (g *Gate) begin(repetitions int) {
	asked := g.Asked()
	total, column := 0, 0
	for _, r := range asked {
		total += r.Repetitions
		column = max(column, len(r.Name))
	}
	if repetitions > 1 {
		column += len(fmt.Sprintf(" (seed %d)", g.Seed+uint64(repetitions)))
	}
	suite := reports.Suite{Version: g.Tool.Version, Name: Titled("gate "+g.File, g.Shard.String()),
		Runtime: g.Where.About(), Seed: g.Seed}
	g.Screen.Start(suite, total, g.Parallel, column, func(out io.Writer) {
		harmless.Fprintf(out, "lockchaos %s · %s · %s · seed %d\n", g.Tool.Version, suite.Name, suite.Runtime, g.Seed)
		harmless.Fprintf(out, "%d scenario%s, %d run%s, %d at once, %s", len(asked), spelling.Plural(len(asked)), total,
			spelling.Plural(total), min(g.Parallel, total),
			scenarios.Estimate(scenarios.LengthOfAll(g.EveryPlan(), g.Parallel)))
		if g.Policy.Budget > 0 {
			harmless.Fprintf(out, ", %v at most", g.Policy.Budget)
		}
		io.WriteString(out, "\n\n")
	})
}

// EveryPlan are the plans of all repetitions.
func (g *Gate) EveryPlan() (all []scenarios.Plan) {
	for i := range g.repetitions() {
		all = append(all, g.Shard.Part(g.Plans(i))...)
	}
	return all
}
