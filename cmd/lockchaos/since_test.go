package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/scenarios"
)

// --only-changed-since: what came out wrong is run first, then what is new or
// changed; what came out right is left out, but only where the same build ran
// the same plan, and the lock is lockchaos's.
func TestOnlyChangedSince(t *testing.T) {
	c, err := ours().Choose([]string{"redlock"}, false)
	if err != nil {
		t.Fatal(err)
	}
	named := func(name string) scenarios.Scenario {
		s := c.Scenarios[0]
		s.Name = name
		return s
	}
	right, wrong, begun, changed, own := named("right"), named("wrong"), named("begun"), named("changed"), named("own")
	own.Lock, own.Adapter = "mine", scenarios.Adapter{Command: "cat", Service: "redis"}
	parent := t.TempDir()
	saveUnended(t, parent, right, wrong, begun, changed, own)
	dir := filepath.Join(parent, "one")
	for name, verdict := range map[string]string{"right": `{"result":"pass","met":true}`, "changed": `{"result":"pass","met":true}`,
		"own": `{"result":"pass","met":true}`, "wrong": `{"result":"inconclusive"}`} {
		if err := os.WriteFile(filepath.Join(dir, name, runs.VerdictFile), []byte(verdict), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	changed.Clients++
	var plans []scenarios.Plan
	for _, s := range []scenarios.Scenario{named("new"), right, own, wrong, begun, changed} {
		plans = append(plans, scenarios.Plan{Seed: 2, Scenario: s})
	}
	for _, x := range []struct {
		name, then, now string // the builds
		want            []string
	}{
		{"the same build", "a", "a", []string{"wrong", "begun", "new", "own", "changed"}},
		{"another build", "a", "b", []string{"wrong", "begun", "new", "right", "own", "changed"}},
		{"nothing tells the build", "", "", []string{"wrong", "begun", "new", "right", "own", "changed"}},
	} {
		tool := runs.NewTool("", "lockchaos", locks())
		tool.Build = x.now
		record, err := runs.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		record.Build = x.then
		if err := record.Save(dir); err != nil {
			t.Fatal(err)
		}
		since, err := tool.ReadEarlierRun(dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range since.Changed(plans) {
			got = append(got, p.Scenario.Name)
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
}
