package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/policy"
	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/screen"
	"github.com/lockchaos/lockchaos/scenarios"
	"github.com/lockchaos/lockchaos/spelling"
)

// checkDryRun refuses a form that has no word for what is only planned.
func (f runFlags) checkDryRun() error {
	if f.dry && f.format == screen.JSON {
		return exit.Misuse(errors.New("--dry-run is told as text: give no --format json beside it"))
	}
	return nil
}

// dryRun says what a run would run.
func dryRun(w io.Writer, name string, plans []scenarios.Plan, f runFlags) error {
	rows := [][]string{{"SCENARIO", "TAKES", "EXPECTED", "FAULTS"}}
	var all []scenarios.Plan
	for _, p := range plans {
		expects := p.Scenario.Expect.Word()
		if f.NoExpect {
			expects = "no violation"
		}
		rows = append(rows, []string{p.Scenario.Name, scenarios.Estimate(scenarios.LengthOf(p)), expects, faultsOf(p.Scenario)})
	}
	for range f.repeat {
		all = append(all, plans...)
	}
	if err := table(w, rows); err != nil {
		return err
	}
	often := ""
	if f.repeat > 1 {
		often = fmt.Sprintf(" %d times, %d runs", f.repeat, len(all))
		if f.until != "" {
			often = fmt.Sprintf(" until %s, %d runs at most", f.until, len(all))
		}
	}
	harmless.Fprintf(w, "\n%s: %d scenario%s%s, %s with %d at once (--parallel). Nothing was run.\n", runs.Titled(name, f.Shard.String()), len(plans), spelling.Plural(len(plans)), often, scenarios.Estimate(scenarios.LengthOfAll(all, f.Parallel)), f.Parallel)
	return nil
}

// faultsOf names the kinds of a scenario's faults.
func faultsOf(s scenarios.Scenario) string {
	var names []string
	for _, f := range s.Faults {
		names = append(names, f.Label())
	}
	if len(names) == 0 {
		return noFault
	}
	return strings.Join(names, ", ")
}

// dryRun says what a gate would run, and whether that fits into its time.
func gateDryRun(w io.Writer, g *runs.Gate) error {
	rows := [][]string{{"SCENARIO", "RUNS", "TAKES EACH", "MUST HOLD"}}
	asked := g.Asked()
	for _, r := range asked {
		rows = append(rows, []string{r.Name, fmt.Sprint(r.Repetitions), scenarios.Estimate(scenarios.LengthOf(scenarios.Plan{Scenario: r.Scenario})), demandWords(r.Demand)})
	}
	if err := table(w, rows); err != nil {
		return err
	}
	all := g.EveryPlan()
	length := scenarios.LengthOfAll(all, g.Parallel)
	budget := "no time budget"
	switch {
	case g.Policy.Budget > 0 && length > g.Policy.Budget:
		budget = fmt.Sprintf("MORE than the time budget of %v: what does not fit is left open", g.Policy.Budget)
	case g.Policy.Budget > 0:
		budget = fmt.Sprintf("within the time budget of %v", g.Policy.Budget)
	}
	harmless.Fprintf(w, "\ngate %s: %d scenario%s, %d run%s, %s with %d at once (--parallel), %s. Nothing was run.\n", runs.Titled(g.File, g.Shard.String()), len(asked), spelling.Plural(len(asked)), len(all), spelling.Plural(len(all)),
		scenarios.Estimate(length), g.Parallel, budget)
	for _, k := range g.Policy.Known {
		harmless.Fprintf(w, "known: %s of %s until %s (%s)\n", k.Property, k.Scenario, k.Expires.Format(time.DateOnly), k.Reason)
	}
	return nil
}

// demandWords says which properties must hold.
func demandWords(d policy.Demand) string {
	switch {
	case d.All:
		return "all that are judged"
	case d.Expected:
		return "what the scenario expects"
	}
	return strings.Join(d.Names, ", ")
}
