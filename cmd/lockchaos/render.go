package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// loadScenario reads a scenario's folder, judges its history and compares the verdict with what was expected.
func loadScenario(dir string, r scenarioRecord, run *runRecord) (reports.Scenario, error) {
	folder := filepath.Join(dir, r.Dir)
	out := reports.Scenario{Name: r.Name, Dir: r.Dir, Failed: r.Failed, Skipped: r.Skipped, Elapsed: r.Elapsed, Seed: run.Seed, Runtime: run.Runtime,
		Version: run.Version}
	plan, err := scenarios.LoadPlan(filepath.Join(folder, planFile), catalogue())
	if err != nil {
		if r.Failed != "" { // it failed before it had a plan: that error says more
			return out, nil
		}
		return out, err
	}
	out.Seed = plan.Seed
	describe(&out, plan, folder)
	if r.Failed != "" || r.Skipped != "" {
		return out, nil
	}
	out.History, err = history.ReadFile(filepath.Join(folder, historyFile))
	if err != nil {
		return out, err
	}
	out.StandIns = out.History.Header.StandIns
	out.Verdict = checker.Judge(out.History, checker.Options{})
	out.Met = out.Verdict.Outcome == checker.Pass
	if !run.NoExpect {
		var all []scenarios.Compared
		for _, c := range plan.Scenario.Expect.Compare(observed(out.Verdict), out.Verdict.Severity.String()) {
			out.Expect = append(out.Expect, reports.Expectation(c))
			all = append(all, c)
		}
		out.Met = scenarios.Met(all)
	}
	return out, nil
}

// describe fills in what the plan says.
func describe(out *reports.Scenario, plan *scenarios.Plan, folder string) {
	s := plan.Scenario
	out.Lock, out.Store, out.About, out.Why = s.Lock, s.Store.Kind, s.About, s.Expect.Why
	out.Fault = faultColumn(s)
	if kind, err := lockKind(s.Lock); err == nil {
		out.Service = kind.Service
		if n := nodesOf(kind.Service); n > 1 {
			out.Service = fmt.Sprintf("%s ×%d", kind.Service, n)
		}
	}
	out.Rerun = "lockchaos run --plan " + filepath.Join(folder, planFile)
	if builtin(s) {
		out.Rerun = fmt.Sprintf("lockchaos run %s --seed %d", s.Name, plan.Seed)
	}
	out.Recheck = "lockchaos check " + filepath.Join(folder, historyFile)
}

// builtin tells whether the scenario comes with lockchaos as it is, so that its name is enough to run it again.
func builtin(s scenarios.Scenario) bool {
	suites, err := scenarios.Builtin(catalogue())
	if err != nil {
		return false
	}
	found, _ := find(suites, s.Name)
	return len(found) == 1 && reflect.DeepEqual(found[0], s)
}

// faultColumn is the scenario's column in the matrix.
func faultColumn(s scenarios.Scenario) string {
	switch {
	case len(s.Faults) == 0:
		return "none"
	case s.Workload.Guard == "check":
		return s.Faults[0].Kind + "-after-check"
	}
	return s.Faults[0].Kind + "-" + s.Faults[0].Target
}

func observed(v checker.Verdict) []scenarios.Observed {
	var out []scenarios.Observed
	for _, p := range v.Properties {
		out = append(out, scenarios.Observed{Property: p.Name, Outcome: p.Outcome.String()})
	}
	return out
}

// render writes every report of a run from its folder, and returns what it rendered.
func render(dir string, run *runRecord) (suite reports.Suite, ready figures, err error) {
	suite = reports.Suite{Name: run.Suite, About: run.About, Command: run.Command, Runtime: run.Runtime, Seed: run.Seed, Started: run.Started,
		Elapsed: run.Elapsed, Version: run.Version}
	for _, r := range run.Scenarios {
		sc, err := loadScenario(dir, r, run)
		if err != nil {
			sc.Failed = err.Error()
		}
		suite.Scenarios = append(suite.Scenarios, sc)
	}
	suite.Versions, suite.StandIns = partsOf(suite.Scenarios)
	ready = readyTimes(suite.Scenarios)
	suite.Twins()
	for i := range suite.Scenarios {
		sc := &suite.Scenarios[i]
		sc.Run = suite.Title()
		if err := os.MkdirAll(filepath.Join(dir, sc.Dir), 0o755); err != nil {
			return suite, ready, fmt.Errorf("make the scenario's folder: %w", err)
		}
		if err := write(filepath.Join(dir, sc.Dir, verdictFile), func(w io.Writer) error { return reports.WriteVerdict(w, *sc) }); err != nil {
			return suite, ready, err
		}
		if err := write(filepath.Join(dir, sc.Dir, reportFile), func(w io.Writer) error { return reports.WriteScenario(w, *sc) }); err != nil {
			return suite, ready, err
		}
		sc.History = nil // all that was needed of it is written
	}
	if err := write(filepath.Join(dir, indexFile), func(w io.Writer) error { return reports.WriteIndex(w, suite) }); err != nil {
		return suite, ready, err
	}
	return suite, ready, write(filepath.Join(dir, junitFile), func(w io.Writer) error { return reports.WriteJUnit(w, suite) })
}

// partsOf gathers the versions and stand-ins of all scenarios, each once, in the order in which they come.
func partsOf(all []reports.Scenario) (parts []history.Part, standIns []string) {
	seenPart, seenText := map[history.Part]bool{}, map[string]bool{}
	for _, sc := range all {
		if sc.History == nil {
			continue
		}
		for _, p := range sc.History.Header.Versions {
			if !seenPart[p] {
				seenPart[p] = true
				parts = append(parts, p)
			}
		}
		for _, text := range sc.StandIns {
			if !seenText[text] {
				seenText[text] = true
				standIns = append(standIns, text)
			}
		}
	}
	return parts, standIns
}

// write makes a file from a renderer.
func write(file string, render func(io.Writer) error) error {
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write a report: %w", err)
	}
	if err := render(f); err != nil {
		f.Close()
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
