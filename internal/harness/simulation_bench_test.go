//go:build unix

package harness_test

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/scenarios"
)

// BenchmarkSimulation is a lock on Redis in virtual time: 3 clients, a TTL of 10 s, and a holder
// that is paused for 30 s. It reports virtual seconds and grants for each second of a processor.
func BenchmarkSimulation(b *testing.B) {
	wasm, err := sim.Build(b.Context(), filepath.Join("testdata", "locks", "redislock"))
	if err != nil {
		b.Fatal(err)
	}
	p, err := sim.Load(b.Context(), wasm, sim.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close(context.Background())
	plan := simulatedPlan(1, "redis", scenarios.Fault{Kind: "pause", Target: "holder", When: "before-write",
		For: 30_000 * ms, After: 5000 * ms})
	plan.Scenario.TTL, plan.Scenario.Duration, plan.Scenario.Quiet = 10_000*ms, 60_000*ms, 5000*ms
	plan.Scenario.Workload.AcquireTimeout, plan.Scenario.Workload.OpTimeout = 40_000*ms, 40_000*ms
	var grants int64
	var virtual time.Duration
	used := processorTime(b)
	for b.Loop() {
		h, v := judged(b, simulate(b, p, plan))
		grants += v.Stats.Grants
		virtual += time.Duration(h.Events[len(h.Events)-1].Time)
	}
	seconds := (processorTime(b) - used).Seconds()
	b.ReportMetric(virtual.Seconds()/seconds, "virtual-s/cpu-s")
	b.ReportMetric(float64(grants)/seconds, "grants/cpu-s")
}

// processorTime is what this process has used of processors.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
