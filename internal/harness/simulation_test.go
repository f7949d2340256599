package harness_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients/external"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness"
	"github.com/lockchaos/lockchaos/internal/harness/simulated"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// built is a lock of testdata/locks.
func built(t *testing.T, lock string) *sim.Program {
	t.Helper()
	return loaded(t, filepath.Join("testdata", "locks", lock))
}

// simulatedEtcd is the mutex of etcd's client.
func simulatedEtcd(t *testing.T) *sim.Program {
	t.Helper()
	return loaded(t, filepath.Join("..", "..", "examples", "go", "etcd"))
}

// programs are those that tests have asked for, by folder.
var programs sync.Map

// loaded builds a program once for all tests, and compiles it to this machine's code, which is kept
// in the user's cache: five seconds of a processor, and a minute for etcd's client. A single test
// of these takes as long if it is interpreted.
func loaded(t *testing.T, dir string) *sim.Program {
	t.Helper()
	load, _ := programs.LoadOrStore(dir, sync.OnceValues(func() (*sim.Program, error) {
		wasm, err := sim.Build(context.Background(), dir)
		if err != nil {
			return nil, err
		}
		return sim.Load(context.Background(), wasm, sim.Options{})
	}))
	p, err := load.(func() (*sim.Program, error))()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const ms = scenarios.Duration(time.Millisecond)

// simulatedPlan is a plan of clients that count under a lock with a TTL of 1 s.
func simulatedPlan(seed uint64, service string, faults ...scenarios.Fault) scenarios.Plan {
	return scenarios.Plan{Seed: seed, Scenario: scenarios.Scenario{Name: "test", Lock: "mine",
		Adapter: scenarios.Adapter{Go: "testdata", Service: service},
		TTL:     1000 * ms, Clients: 3, Keys: 1, Duration: 5000 * ms, Quiet: 1000 * ms,
		Store: scenarios.Store{Kind: "unfenced"}, Faults: faults,
		Workload: scenarios.Workload{Kind: "counter", Guard: "none", Think: scenarios.Range{Min: 5 * ms, Max: 50 * ms},
			Rest:           scenarios.Range{Max: 50 * ms},
			AcquireTimeout: 3000 * ms, OpTimeout: 2000 * ms}}}
}

func simulate(t testing.TB, p *sim.Program, plan scenarios.Plan) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := harness.Simulate(t.Context(), simulated.Config{Plan: plan,
		Lock: external.Kind(plan.Scenario.Adapter.Service), Program: p, History: &out}); err != nil {
		t.Fatalf("seed %d: %v", plan.Seed, err)
	}
	return out.Bytes()
}

func judged(t testing.TB, text []byte) (*history.History, checker.Verdict) {
	t.Helper()
	h, err := history.ReadAll(bytes.NewReader(text), "history")
	if err != nil {
		t.Fatal(err)
	}
	return h, checker.Judge(h, checker.Options{KeepDefects: true})
}

// TestSimulationIsTraced: what is told of a run shows the way of a lock from
// the adapter to the server, and changes nothing.
func TestSimulationIsTraced(t *testing.T) {
	t.Parallel()
	needed.Simulates(t)
	p := built(t, "redislock")
	plan := simulatedPlan(1, "redis", scenarios.Fault{Kind: "loss", Target: "holder", When: "before-release",
		Probability: 0.8, For: 300 * ms})
	plan.Scenario.Duration = 2000 * ms // half of it is quiet
	var traced, trace bytes.Buffer
	if err := harness.Simulate(t.Context(), simulated.Config{Plan: plan, Lock: external.Kind("redis"), Program: p,
		History: &traced, Trace: &trace}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(traced.Bytes(), simulate(t, p, plan)) {
		t.Error("a run that is traced is another run")
	}
	for _, step := range []string{" the adapter of client 1 fd_write", " sent client-1>redis-1 #", " lost ",
		" received client-1>redis-1 #", " redis-1    [\"evalsha\" ", " received redis-1>client-1 #"} {
		if !bytes.Contains(trace.Bytes(), []byte(step)) {
			t.Errorf("nothing tells of %q", step)
		}
	}
}

// TestSimulationSteady: what a plan has the scheduler no longer draw makes
// another run, the same each time; and a part that there is not is refused.
func TestSimulationSteady(t *testing.T) {
	t.Parallel()
	needed.Simulates(t)
	p := built(t, "redislock")
	plan := simulatedPlan(1, "redis")
	plan.Scenario.Duration = 1500 * ms
	drawn := simulate(t, p, plan)
	plan.Simulation = &scenarios.Simulation{Program: p.Hash, Simulator: harness.SimulatorHash(), Steady: simulated.Draws(plan, "redis")}
	steady := simulate(t, p, plan)
	if bytes.Equal(drawn, steady) || !bytes.Equal(steady, simulate(t, p, plan)) {
		t.Error("it is the run that was drawn, or another one each time")
	}
	plan.Simulation.Steady = []string{"client-1-redis-2"}
	err := harness.Simulate(t.Context(), simulated.Config{Plan: plan, Lock: external.Kind("redis"), Program: p, History: io.Discard})
	if err == nil || !strings.Contains(err.Error(),
		`simulation.steady: nothing is drawn for "client-1-redis-2"; did you mean client-1-redis-1?`) {
		t.Error(err)
	}
}

// everyFault are faults of each kind that exists in virtual time, some on a
// node, which has its data after a crash, or none.
func everyFault(node, data string) []scenarios.Fault {
	return []scenarios.Fault{{After: 200 * ms, Every: scenarios.Range{Min: 50 * ms, Max: 200 * ms}, Mix: []scenarios.Fault{
		{Kind: "pause", Target: "holder", When: "before-write", For: 1500 * ms},
		{Kind: "pause", Target: node, When: "random", For: 300 * ms},
		{Kind: "kill", Target: "random-client", When: "random", For: 100 * ms},
		{Kind: "hold", Target: "holder", When: "acquiring", Request: "acquire", Way: "in", For: 300 * ms},
		{Kind: "cut", Target: "holder", When: "before-write", Request: "write", Point: "after-request"},
		{Kind: "reset", Target: "holder", When: "between-read-and-write"},
		{Kind: "partition", Target: "holder", When: "before-release", For: 500 * ms},
		{Kind: "delay", Target: "random-client", When: "random", Delay: 50 * ms, Jitter: 10 * ms, For: 300 * ms},
		{Kind: "loss", Target: "random-client", When: "random", Probability: 0.3, For: 300 * ms},
		{Kind: "duplicate", Target: "random-client", When: "random", Probability: 0.5, For: 300 * ms},
		{Kind: "reorder", Target: "random-client", When: "random", Probability: 0.5, Delay: 20 * ms, For: 300 * ms},
		{Kind: "clock-jump", Target: "random-client", When: "random", Clock: "mono", By: scenarios.Offset(time.Second), For: 300 * ms},
		{Kind: "clock-rate", Target: "random-client", When: "random", Clock: "mono", Rate: 1.5, For: 300 * ms},
		{Kind: "crash-restart", Target: node, When: "random", Data: data, For: 200 * ms},
	}}}
}

// hashesVar has a child of TestSimulationRepeats print the hashes of its histories.
const hashesVar = "LOCKCHAOS_TEST_HASHES"

// seedsVar says how many seeds TestSimulationRepeats repeats; 5 where it is not set.
const seedsVar = "LOCKCHAOS_TEST_SEEDS"

func seedsRepeated(t *testing.T) uint64 {
	text := cmp.Or(os.Getenv(seedsVar), "5")
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// repeated are the runs of TestSimulationRepeats.
type repeated struct {
	p       *sim.Program
	service string
	faults  []scenarios.Fault
}

func (x repeated) plan(seed uint64) scenarios.Plan {
	return simulatedPlan(seed, x.service, x.faults...)
}

func (x repeated) hashes(t *testing.T) string {
	var all strings.Builder
	for seed := range seedsRepeated(t) {
		fmt.Fprintf(&all, "%x\n", sha256.Sum256(simulate(t, x.p, x.plan(seed))))
	}
	return all.String()
}

// TestSimulationRepeats: the same seed gives the same history, byte for byte: twice in a process,
// in other processes, and on one processor or two. Faults of all kinds strike meanwhile.
func TestSimulationRepeats(t *testing.T) {
	needed.Simulates(t)
	t.Run("redis", func(t *testing.T) {
		repeats(t, repeated{built(t, "redislock"), "redis", everyFault("redis-1", "lost")})
	})
	t.Run("etcd", func(t *testing.T) {
		repeats(t, repeated{simulatedEtcd(t), "etcd", everyFault("leader", "kept")})
	})
}

func repeats(t *testing.T, x repeated) {
	if file := os.Getenv(hashesVar); file != "" {
		if err := os.WriteFile(file, []byte(x.hashes(t)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := x.hashes(t)
	kinds := map[string]bool{}
	for seed := range min(seedsRepeated(t), 5) {
		h, _ := judged(t, simulate(t, x.p, x.plan(seed)))
		for _, e := range h.Events {
			if e.Type == history.Fault && e.Fault.Phase == "end" && e.Fault.Bit {
				kinds[e.Fault.Kind] = true
			}
		}
	}
	for _, f := range x.faults[0].Mix {
		if !kinds[f.Kind] {
			t.Errorf("no %s took effect", f.Kind)
		}
	}
	for _, processors := range []string{"1", "2"} {
		file := filepath.Join(t.TempDir(), "hashes")
		child := exec.Command(os.Args[0], "-test.run", "^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
		child.Env = append(os.Environ(), hashesVar+"="+file, "GOMAXPROCS="+processors)
		if out, err := child.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for seed, one := range strings.Fields(string(got)) {
			if one != strings.Fields(want)[seed] {
				t.Errorf("seed %d: another process with GOMAXPROCS=%s has another history", seed, processors)
			}
		}
	}
	lines := strings.Fields(want)
	for i, one := range lines[1:] {
		if one == lines[0] {
			t.Errorf("seeds 0 and %d have the same history", i+1)
		}
	}
}

// defects names the properties of which the verdict has a certain defect.
func defects(v checker.Verdict) (names []string) {
	for _, p := range v.Properties {
		if p.CountOf(checker.Defect) > 0 {
			names = append(names, p.Name)
		}
	}
	return names
}

// TestSimulationFindsLateReply: redislock hands out a lease that ended while the reply was on its
// way; redsync does not.
func TestSimulationFindsLateReply(t *testing.T) {
	needed.Simulates(t)
	late := scenarios.Fault{Kind: "hold", Target: "holder", When: "acquiring", Request: "acquire", Way: "in",
		For: 1100 * ms, After: 100 * ms, Every: scenarios.Range{Min: 100 * ms, Max: 500 * ms}}
	for lock, want := range map[string]string{"redislock": checker.DeadGrant, "redsync": ""} {
		p := built(t, lock)
		found := map[string]bool{}
		for seed := range uint64(3) {
			h, v := judged(t, simulate(t, p, simulatedPlan(seed, "redis", late)))
			if v.Stats.Grants < 20 {
				t.Errorf("%s, seed %d: %d grants", lock, seed, v.Stats.Grants)
			}
			if h.Header.Simulation == nil || !strings.HasPrefix(h.Header.StandIns[0], "Simulated: ") {
				t.Errorf("%s: the history does not say that it was simulated: %+v", lock, h.Header)
			}
			for _, name := range defects(v) {
				found[name] = true
			}
		}
		if found[want] != (want != "") || want == "" && len(found) > 0 {
			t.Errorf("%s: defects in %v, want %q", lock, found, want)
		}
	}
}

// TestSimulatedOverrun: a pause past the lease is inherent, and no defect; a broken lock needs no
// fault to show one.
func TestSimulatedOverrun(t *testing.T) {
	t.Parallel()
	needed.Simulates(t)
	pause := scenarios.Fault{Kind: "pause", Target: "holder", When: "before-write", For: 1500 * ms, After: 100 * ms,
		Every: scenarios.Range{Min: 100 * ms, Max: 500 * ms}}
	_, v := judged(t, simulate(t, built(t, "redsync"), simulatedPlan(1, "redis", pause)))
	if p := v.Property(checker.MutualExclusion); p.CountOf(checker.Inherent) == 0 || len(defects(v)) > 0 {
		t.Errorf("redsync, paused: %+v, defects %v", p, defects(v))
	}
	plan := simulatedPlan(1, "redis")
	plan.Scenario.Workload.Rest = scenarios.Range{}
	if _, v := judged(t, simulate(t, built(t, "broken"), plan)); len(defects(v)) == 0 {
		t.Errorf("the broken lock shows no defect: %+v", v.Stats)
	}
}

// TestSimulatedKillAtReply: a client that is killed at the reply to its acquire had the key by
// then, so nobody is granted it before its lease is over; a fresh process goes on in its place.
func TestSimulatedKillAtReply(t *testing.T) {
	t.Parallel()
	needed.Simulates(t)
	plan := simulatedPlan(1, "redis", scenarios.Fault{Kind: nemesis.KindKillAtReply, Target: "holder",
		When: "acquiring", Request: "acquire", For: 100 * ms, After: 100 * ms,
		Every: scenarios.Range{Min: 100 * ms, Max: 300 * ms}})
	plan.Scenario.Clients, plan.Scenario.Duration = 1, 6000*ms
	h, v := judged(t, simulate(t, built(t, "redsync"), plan))
	if len(defects(v)) > 0 || v.Stats.Grants < 5 {
		t.Errorf("%d grants, defects %v", v.Stats.Grants, defects(v))
	}
	kills, killed := 0, int64(0)
	for i := range h.Events {
		e := &h.Events[i]
		switch {
		case e.Type == history.Fault && e.Fault.Injected && e.Fault.Phase == "end":
			kills, killed = kills+1, e.Fault.From
			if !e.Fault.Bit || !strings.Contains(e.Fault.Evidence, "the reply to acquire, ") ||
				e.Fault.Touches().Ends != history.EndsProcess {
				t.Errorf("kill %d: %+v", kills, e.Fault)
			}
		case e.Kind == history.Acquire && e.Type == history.OK && killed != 0:
			if free := time.Duration(e.Time - killed); free < 900*time.Millisecond {
				t.Errorf("op %d was granted the key %v after its last holder was killed, whose lease lasted for 1 s", e.Op, free)
			}
			killed = 0
		}
	}
	if kills < 3 {
		t.Errorf("%d kills", kills)
	}
}

// TestSimulatedEtcd: the mutex of etcd's client has no defect while nothing fails, while
// members fail one by one, and while a holder is frozen past its lease. Two hold then,
// which no lease prevents. A store that checks the fencing tokens refuses the late writes.
func TestSimulatedEtcd(t *testing.T) {
	needed.Simulates(t)
	p := simulatedEtcd(t)
	pause := scenarios.Fault{Kind: "pause", Target: "holder", When: "before-write", For: 4000 * ms, After: 100 * ms}
	crash := scenarios.Fault{Kind: "crash-restart", Target: "leader", When: "random", Data: "kept", For: 300 * ms,
		After: 500 * ms, Every: scenarios.Range{Min: 3000 * ms, Max: 4000 * ms}}
	for _, c := range []struct {
		name, store string
		length      scenarios.Duration // ms
		faults      []scenarios.Fault
		overruns    bool
		fenced      checker.Outcome
	}{
		{"no fault", "fenced", 4000, nil, false, checker.Pass},
		{"leaders crash", "fenced", 8000, []scenarios.Fault{crash}, false, checker.Pass},
		{"paused, unfenced", "unfenced", 9000, []scenarios.Fault{pause}, true, checker.Violated},
		{"paused, fenced", "fenced", 9000, []scenarios.Fault{pause}, true, checker.Pass},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := simulatedPlan(1, "etcd", c.faults...)
			plan.Scenario.Store.Kind, plan.Scenario.Duration = c.store, c.length*ms
			h, v := judged(t, simulate(t, p, plan))
			if v.Stats.Grants < 20 || len(defects(v)) > 0 || !strings.Contains(h.Header.StandIns[0], "against a model of etcd") {
				t.Errorf("%d grants, defects in %v, on %q", v.Stats.Grants, defects(v), h.Header.StandIns)
			}
			if inherent := v.Property(checker.MutualExclusion).CountOf(checker.Inherent) > 0; inherent != c.overruns {
				t.Errorf("overruns: %v, want %v", inherent, c.overruns)
			}
			if got := v.Property(checker.UnfencedWrite).Outcome; got != c.fenced {
				t.Errorf("the data: %v, want %v", got, c.fenced)
			}
		})
	}
}

// TestSimulationRefuses: what does not exist in virtual time is refused in a plain sentence, and a
// plan that was simulated with something else is, too.
func TestSimulationRefuses(t *testing.T) {
	needed.WithoutRace(t)
	for _, c := range []struct {
		change func(*scenarios.Plan)
		want   string
	}{
		{func(p *scenarios.Plan) { p.Scenario.Adapter.Service = "consul" }, "has the services redis, redis-five and etcd, and no consul"},
		{func(p *scenarios.Plan) { p.Scenario.Workload.Kind = "stampede" }, "no workload stampede"},
		{func(p *scenarios.Plan) { p.Scenario.Faults = []scenarios.Fault{{Kind: "throttle"}} }, "has no throttle"},
		{func(p *scenarios.Plan) { p.Scenario.Faults = []scenarios.Fault{{Kind: "cut", Silent: true}} }, "cuts with a reset"},
		{func(p *scenarios.Plan) { p.Simulation = &scenarios.Simulation{Program: "x"} }, "is another program now"},
		{func(p *scenarios.Plan) { p.Simulation = &scenarios.Simulation{} }, "has another simulator"},
	} {
		plan := simulatedPlan(1, "redis")
		c.change(&plan)
		err := harness.Simulate(t.Context(), simulated.Config{Plan: plan,
			Lock: external.Kind(plan.Scenario.Adapter.Service), Program: &sim.Program{}, History: &bytes.Buffer{}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v\nwant %s", err, c.want)
		}
		if plan.Simulation != nil && !errors.Is(err, simulated.ErrOtherSimulation) {
			t.Errorf("%v is no ErrOtherSimulation", err)
		}
	}
}
