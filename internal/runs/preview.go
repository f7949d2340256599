package runs

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/policy"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/reports/terminal"
	"github.com/lockchaos/lockchaos/scenarios"
)

// What a run or a gate would run, and how long that takes.

// Preview says what a run would run, and how long that takes. name is the suite's, plans are those
// of the shard; each is run repeat times, or until something is seen.
func (s Settings) Preview(w io.Writer, name string, plans []scenarios.Plan, repeat int, until string) error {
	rows := [][]string{{"SCENARIO", "TAKES", "EXPECTED", "FAULTS"}}
	for _, p := range plans {
		expects := p.Scenario.Expect.Word()
		if s.NoExpect {
			expects = "no violation"
		}
		faults := []string{}
		for _, f := range p.Scenario.Faults {
			faults = append(faults, f.Label())
		}
		if len(faults) == 0 {
			faults = append(faults, "none")
		}
		rows = append(rows, []string{p.Scenario.Name, scenarios.Estimate(scenarios.LengthOf(p)), expects,
			strings.Join(faults, ", ")})
	}
	if err := terminal.Table(w, rows); err != nil {
		return err
	}
	var all []scenarios.Plan
	for range max(repeat, 1) {
		all = append(all, plans...)
	}
	often := ""
	switch {
	case until != "":
		often = fmt.Sprintf(" until %s, %d runs at most", until, len(all))
	case repeat > 1:
		often = fmt.Sprintf(" %d times, %d runs", repeat, len(all))
	}
	_, err := harmless.Fprintf(w, "\n%s: %d scenario%s%s, %s with %d at once (--parallel). Nothing was run.\n",
		Titled(name, s.Shard.String()),
		len(plans), spelling.Plural(len(plans)), often, scenarios.Estimate(scenarios.LengthOfAll(all, s.Parallel)),
		s.Parallel)
	return err
}

// Preview says what a gate would run, and whether that fits into its time.
func (g *Gate) Preview(w io.Writer) error {
	rows := [][]string{{"SCENARIO", "RUNS", "TAKES EACH", "MUST HOLD"}}
	asked := g.Asked()
	for _, r := range asked {
		rows = append(rows, []string{r.Name, fmt.Sprint(r.Repetitions),
			scenarios.Estimate(scenarios.LengthOf(scenarios.Plan{Scenario: r.Scenario})), demandWords(r.Demand)})
	}
	if err := terminal.Table(w, rows); err != nil {
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
	harmless.Fprintf(w, "\ngate %s: %d scenario%s, %d run%s, %s with %d at once (--parallel), %s. Nothing was run.\n",
		Titled(g.File, g.Shard.String()),
		len(asked), spelling.Plural(len(asked)), len(all), spelling.Plural(len(all)), scenarios.Estimate(length),
		g.Parallel, budget)
	for _, k := range g.Policy.Known {
		harmless.Fprintf(w, "known: %s of %s until %s (%s)\n", k.Property, k.Scenario, k.Expires.Format(time.DateOnly),
			k.Reason)
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
