package main

import (
	"fmt"
	"maps"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/scenarios"
	"github.com/lockchaos/lockchaos/shrink"
	"github.com/lockchaos/lockchaos/strictyaml"
)

// suiteText is a suite of one scenario, as it is written.
func suiteText(s scenarios.Scenario) ([]byte, error) {
	s.Attack = "" // what is left of it is no longer the attack
	text, err := yaml.Marshal(scenarios.Suite{Name: "regression", About: "found by lockchaos shrink", Scenarios: []scenarios.Scenario{s}})
	if err != nil {
		return nil, fmt.Errorf("write the scenario %s: %w", s.Name, err)
	}
	return text, nil
}

// runnable tells why a scenario can't be run as it is written.
func runnable(s scenarios.Scenario) error {
	text, err := suiteText(s)
	if err != nil {
		return err
	}
	_, err = scenarios.Parse(text, s.Name, catalogue())
	return err
}

// yaml is the file of the smallest scenario, with what it is and how it was found.
func (s *shrinking) yaml(trail []shrink.Step, r shrink.Result, last ballot) ([]byte, error) {
	smallest := trail[len(trail)-1].Scenario
	smallest.About = fmt.Sprintf("the least of %s in which %s is violated", s.old.Name, s.property)
	smallest.Expect = withoutDefect(s.plan.Scenario.Expect, s.property)
	smallest.Needs = lesser(smallest.Needs, last)
	text, err := suiteText(smallest)
	if err != nil {
		return nil, err
	}
	if _, err := scenarios.Parse(text, s.file, catalogue()); err != nil {
		return nil, fmt.Errorf("the smallest scenario can't be read back: %w", err)
	}
	var b strings.Builder
	b.WriteString(strictyaml.SchemaLine("suite"))
	say := func(format string, args ...any) { harmless.Fprintf(&b, "# "+format+"\n", args...) }
	say("A regression test, reduced by `lockchaos shrink` (lockchaos %s) from %s (seed %d), where %s is violated.", version, s.old.Name, s.plan.Seed, s.property)
	if last.rate().Of > 0 {
		say("What is left violates it in %s runs (95 %% interval: %s).", last.rate(), last.rate().Between())
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

// withoutDefect is what is expected when the defect is mended: the property passes. Of others that were expected to be violated nothing is expected: they may go
// with it.
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

// lesser are needs that so small a run can meet: half of what was seen.
func lesser(n scenarios.Needs, seen ballot) scenarios.Needs {
	n.Grants = max(1, min(n.Grants, int(seen.grants/2)))
	n.Handovers = min(n.Handovers, int(seen.handovers/2))
	n.Bites = min(n.Bites, 1)
	return n
}
