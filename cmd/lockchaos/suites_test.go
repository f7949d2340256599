package main

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/lockchaos/lockchaos/scenarios"
)

// builtinSuites are the suites that come with lockchaos, by name.
func builtinSuites(t *testing.T) map[string]scenarios.Suite {
	t.Helper()
	all, err := scenarios.Builtin(catalogue())
	if err != nil {
		t.Fatal(err)
	}
	suites := map[string]scenarios.Suite{}
	for _, s := range all {
		suites[s.Name] = s
	}
	return suites
}

// A name means one scenario, in whatever suite it stands.
func TestScenariosOfOneNameAreTheSame(t *testing.T) {
	seen := map[string]scenarios.Scenario{}
	for _, suite := range builtinSuites(t) {
		for _, s := range suite.Scenarios {
			if other, known := seen[s.Name]; known && !reflect.DeepEqual(other, s) {
				t.Errorf("%s of suite %s is another than of the same name elsewhere", s.Name, suite.Name)
			}
			seen[s.Name] = s
		}
	}
}

// Every suite stays valid at the scale of production.
func TestSuitesAtRealScale(t *testing.T) {
	for _, suite := range builtinSuites(t) {
		for _, s := range suite.Scenarios {
			p := scenarios.Plan{Scenario: s}.Real()
			for i, f := range p.Scenario.Faults {
				if s.Faults[i].For > s.TTL && f.For < scenarios.RealFreeze {
					t.Errorf("%s: a fault of %v at a lease of %v", s.Name, f.For, p.Scenario.TTL)
				}
			}
			if p.Scenario.TTL < scenarios.RealTTL {
				t.Errorf("%s: %+v", s.Name, p.Scenario)
			}
		}
	}
}

func TestPlansSurviveTheFile(t *testing.T) {
	for _, suite := range builtinSuites(t) {
		for _, sc := range suite.Scenarios {
			want := scenarios.Plan{Seed: 7, Scenario: sc}
			file := filepath.Join(t.TempDir(), "plan.yaml")
			if err := want.Save(file); err != nil {
				t.Fatal(err)
			}
			got, err := scenarios.LoadPlan(file, catalogue())
			if err != nil {
				text, _ := os.ReadFile(file)
				t.Fatalf("%v\n%s", err, text)
			}
			if !reflect.DeepEqual(*got, want) {
				t.Fatalf("got  %+v\nwant %+v", *got, want)
			}
		}
	}
}
