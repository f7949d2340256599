package harness_test

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients/external"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/hosts/sim"
	"github.com/lockchaos/lockchaos/scenarios"
)

func simulated(t *testing.T, dir string) *sim.Program {
	t.Helper()
	wasm, err := sim.Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := sim.Load(t.Context(), wasm, sim.Options{Interpret: os.Getenv("SIMCOMPILE") == ""})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close(context.Background()) })
	return p
}

func TestSimulateOnce(t *testing.T) {
	p := simulated(t, "../examples/go/redislock")
	ms := func(n int) scenarios.Duration { return scenarios.Duration(time.Duration(n) * time.Millisecond) }
	plan := scenarios.Plan{Seed: 1, Scenario: scenarios.Scenario{Name: "x", Lock: "redislock", Adapter: scenarios.Adapter{Go: "x", Service: "redis"}, TTL: ms(10000), Clients: 3, Keys: 1,
		Duration: ms(60000), Quiet: ms(10000), Store: scenarios.Store{Kind: "unfenced"},
		Faults:   []scenarios.Fault{{Kind: "pause", Target: "holder", When: "between-read-and-write", For: ms(30000), After: ms(1000), Every: scenarios.Range{Min: ms(1000), Max: ms(3000)}}},
		Workload: scenarios.Workload{Kind: "counter", Guard: "none", Think: scenarios.Range{Min: 0, Max: ms(20)}, Rest: scenarios.Range{Min: 0, Max: ms(50)}, AcquireTimeout: ms(20000), OpTimeout: ms(2000)}}}
	var out [2]bytes.Buffer
	for i := range out {
		began := time.Now()
		err := harness.Simulate(t.Context(), harness.Simulation{Plan: plan, Lock: external.Kind("redis"), Program: p, History: &out[i], Log: os.Stderr})
		t.Log(time.Since(began), out[i].Len(), err)
		if err != nil {
			os.WriteFile("/tmp/simwork/h.jsonl", out[i].Bytes(), 0o644)
			t.Fatal(err)
		}
	}
	if !bytes.Equal(out[0].Bytes(), out[1].Bytes()) {
		t.Error("differs")
	}
	os.WriteFile("/tmp/simwork/h.jsonl", out[0].Bytes(), 0o644)
	_ = history.Header{}
}
