package harness

import (
	"io/fs"
	"slices"
	"testing"
)

// TestSimulatorHashCovers: the hash covers the files that decide what a simulated run does.
func TestSimulatorHashCovers(t *testing.T) {
	for _, file := range []string{"simulated/simulated.go", "simulated/client.go", "simulated/faults.go", "wire/client.go", "worker/calls.go",
		"workload/workload.go", "world.go", "overlay/net_sim.go.txt", "script/meter.go", "degrade.go", "verdict.go",
		"memory.go", "exchange.go", "strays.go", "recorder.go", "plan.go", "random.go"} {
		if !slices.ContainsFunc(decisive, func(from fs.FS) bool { _, err := fs.Stat(from, file); return err == nil }) {
			t.Errorf("%s is not covered", file)
		}
	}
}
