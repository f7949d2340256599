//go:build unix

package exhaustive

import (
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients/external"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/harness/simulated"
	"github.com/lockchaos/lockchaos/scenarios"
)

// BenchmarkSchedule is a schedule of a lock on Redis, each of another part of the list. It reports
// processor time.
func BenchmarkSchedule(b *testing.B) {
	p, err := loaded()
	if err != nil {
		b.Fatal(err)
	}
	says, err := simulated.Introduced(b.Context(), p, external.Kind("redis"), ttl)
	if err != nil {
		b.Fatal(err)
	}
	kind := external.Declared("redis", says)
	x := &Search{Lock: kind, Program: p, Seed: 1, Say: func(string) {}, Examinee: possible.Examinee(kind, scenarios.Scenario{Lock: "tried",
		Adapter: scenarios.Adapter{Go: "tried", Service: "redis"}, TTL: scenarios.Duration(ttl),
		Store: scenarios.Store{Kind: "unfenced"}})}
	x.done, x.log, x.told = map[int]outcome{}, &journal{}, time.Now()
	if _, err := x.survey(b.Context()); err != nil {
		b.Fatal(err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(fewerCollections))
	n, used := 0, processorTime(b)
	for b.Loop() {
		if err := x.tryOne(b.Context(), n*61%len(x.all)); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64((processorTime(b)-used).Milliseconds())/float64(n), "cpu-ms/schedule")
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
