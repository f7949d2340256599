package main

import (
	"testing"

	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/scenarios"
)

// TestFaultColumns holds the matrix's columns of built-in scenarios with
// several faults to what the scenarios are about.
func TestFaultColumns(t *testing.T) {
	suites, err := scenarios.Builtin(catalogue())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"redlock/clock-jump-one/unfenced": "clock-jump-one", "redlock/clock-rate-one/unfenced": "clock-rate-one",
		"redlock/partition-each/unfenced": "partition-each",
		"redlock/crash-one/unfenced":      "crash-one", "redis-setnx/pause-holder/unfenced": "pause-holder",
		"redis-setnx/none/unfenced": "none",
	} {
		found, _ := runs.Find(suites, name)
		if len(found) == 0 {
			t.Fatalf("%s: there is no such scenario", name)
		}
		if got := runs.FaultColumn(found[0]); got != want {
			t.Errorf("%s stands under %q, want %q", name, got, want)
		}
	}
}
