package experiments

import (
	"fmt"
	"maps"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/shrink"
	"github.com/lockchaos/lockchaos/internal/strictyaml"
	"github.com/lockchaos/lockchaos/scenarios"
)

// SuiteText is a suite of one scenario, as it is written.
func SuiteText(s scenarios.Scenario) ([]byte, error) {
	s.Attack = "" // what is left of it is no longer the attack
	text, err := yaml.Marshal(scenarios.Suite{Name: "regression", About: "found by lockchaos shrink",
		Scenarios: []scenarios.Scenario{s}})
	if err != nil {
		return nil, fmt.Errorf("write the scenario %s: %w", s.Name, err)
	}
	return text, nil
}

// Runnable tells why a scenario can't be run as it is written.
func Runnable(known scenarios.Catalogue, s scenarios.Scenario) error {
	text, err := SuiteText(s)
	if err != nil {
		return err
	}
	_, err = scenarios.Parse(text, s.Name, known)
	return err
}

// yaml is the file of the smallest scenario, with what it is and how it was found.
func (s *Shrinking) yaml(trail []shrink.Step, r shrink.Result, last TrialCounts) ([]byte, error) {
	smallest := trail[len(trail)-1].Scenario
	smallest.About = fmt.Sprintf("the least of %s in which %s is violated", s.old.Name, s.Property)
	smallest.Expect = withoutDefect(s.Plan.Scenario.Expect, s.Property)
	smallest.Needs = smallerNeeds(smallest.Needs, last)
	text, err := SuiteText(smallest)
	if err != nil {
		return nil, err
	}
	if _, err := scenarios.Parse(text, s.File, s.tool.Catalogue()); err != nil {
		return nil, fmt.Errorf("the smallest scenario can't be read back: %w", err)
	}
	var b strings.Builder
	b.WriteString(strictyaml.SchemaLine("suite"))
	say := func(format string, args ...any) { harmless.Fprintf(&b, "# "+format+"\n", args...) }
	say("A regression test, reduced by `lockchaos shrink` (lockchaos %s) from %s (seed %d), where %s is violated.",
		s.tool.Version, s.old.Name, s.Plan.Seed, s.Property)
	if last.Rate().Of > 0 {
		say("What is left violates it in %s runs (95 %% interval: %s).", last.Rate(), last.Rate().Between())
	}
	say("`lockchaos run` of this file gives 1 for as long as it does, and 0 once it is mended.")
	if !r.Minimal {
		say("The search was cut short: a smaller one may be found with more --budget or --tries.")
	}
	for _, step := range trail[1:] {
		say("  %s", step.What)
	}
	return append([]byte(b.String()), text...), nil
}

// withoutDefect is what is expected when the defect is mended: the property passes. Of
// others that were expected to be violated nothing is expected: they may go with it.
func withoutDefect(e scenarios.Expect, property string) scenarios.Expect {
	out := scenarios.Expect{Properties: maps.Clone(e.Properties)}
	if out.Properties == nil {
		out.Properties = map[string]string{}
	}
	for name, want := range out.Properties {
		if want == checker.Violated.String() {
			out.Properties[name] = "any"
		}
	}
	out.Properties[property] = checker.Pass.String()
	out.Why = fmt.Sprintf("It is about %s, which was violated when this scenario was written.", property)
	return out
}

// smallerNeeds are needs that so small a run can meet: half of what was seen.
func smallerNeeds(n scenarios.Needs, seen TrialCounts) scenarios.Needs {
	n.Grants = max(1, min(n.Grants, int(seen.Grants/2)))
	n.Handovers = min(n.Handovers, int(seen.Handovers/2))
	n.Bites = min(n.Bites, 1)
	return n
}
