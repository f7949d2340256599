package experiments

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/harness"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/own"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/scenarios"
)

// explored searches some seeds of a lock of the harness's tests, and returns the plan that it
// wrote; nil: none.
func explored(t *testing.T, lock string, seeds uint64, corpus string) (plan *scenarios.Plan, said string, err error) {
	t.Helper()
	tool := runs.NewTool("test", "lockchaos", nil)
	program := own.Program{Go: filepath.Join("..", "harness", "testdata", "locks", lock), Service: "redis", TTL: 500 * time.Millisecond}
	met, err := program.Meet(t.Context(), runtimes.Where{Runtime: runtimes.Virtual}, func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	file := filepath.Join(t.TempDir(), "found.yaml")
	x := &Exploring{Tool: tool, Lock: met, Seed: 1, Most: seeds, For: 10 * time.Minute, Length: 2 * time.Second,
		Cores: 2, File: file, Corpus: corpus, Out: screen.New(&out)}
	err = x.Do(t.Context())
	if _, missing := os.Stat(file); missing == nil {
		if plan, missing = scenarios.LoadPlan(file, tool.Catalogue()); missing != nil {
			t.Fatal(missing)
		}
	}
	return plan, out.String(), err
}

// TestExploreFindsAndShrinks: a lock that two clients can take at once is found from nothing, and
// what is left of its plan shows the defect, again and again.
func TestExploreFindsAndShrinks(t *testing.T) {
	needed.Simulates(t)
	plan, said, err := explored(t, "broken", 20, "")
	if exit.Of(err) != exit.Violated || plan == nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if plan.Scenario.Clients != 2 || len(plan.Scenario.Faults) > 1 || plan.Simulation == nil ||
		plan.Simulation.Simulator != harness.SimulatorHash() {
		t.Errorf("it was shrunk to %+v", plan)
	}
	for _, want := range []string{"shows a defect: ", "shrinking it", "nothing drawn for ties, client-1",
		"the scheduler draws nothing", "run --plan"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said:\n%s", want, said)
		}
	}
}

// TestExploreSparesRedsync: overruns are counted, and are no defect.
func TestExploreSparesRedsync(t *testing.T) {
	needed.Simulates(t)
	corpus := t.TempDir()
	plan, said, err := explored(t, "redsync", 3, corpus)
	if err != nil || plan != nil || !strings.Contains(said, "3 seeds in ") || !strings.Contains(said, "no defect was found") {
		t.Errorf("%v\n%s", err, said)
	}
	kept, _ := plansIn(corpus)
	_, said, err = explored(t, "redsync", 1, corpus)
	if want := fmt.Sprintf("corpus: %d plan", len(kept)); err != nil || len(kept) == 0 ||
		!strings.Contains(said, want) || strings.Contains(said, " and 0 orders") {
		t.Errorf("the next search: %v, %q is not said:\n%s", err, want, said)
	}
}
