package locktest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/locktest"
)

// This file is built for wasip1, too: it has no build constraint, and imports
// nothing that only Linux has.

// TestSimulated: a right lock passes with each of several seeds, but for what
// is inherent. Whatever a test or a library prints does not disturb the client.
func TestSimulated(t *testing.T) {
	needed.Simulates(t)
	if locktest.Client() {
		fmt.Println("not of the protocol")
	}
	s := locktest.Scenario{Service: "redis", Fault: "pause-holder", Claims: redis.SetnxFenced.Claims, Inherent: true, Seeds: 2}
	locktest.Simulate(t, s, func(n locktest.Nodes) (clients.Lock, error) {
		fmt.Println("nor this")
		var word string
		if _, err := fmt.Scanln(&word); err == nil {
			return nil, fmt.Errorf("read %q from standard input, which is the harness's", word)
		}
		return redis.SetnxFenced.Open(context.Background(), n.Config)
	})
}

// TestSimulatedCalls: each client comes to its own call of Simulate.
func TestSimulatedCalls(t *testing.T) {
	needed.Simulates(t)
	for _, name := range []string{"wait", "wait", "a/b (c) ü"} { // the second is wait#01
		t.Run(name, func(t *testing.T) {
			for ttl := time.Second; ttl <= 2*time.Second; ttl += time.Second {
				locktest.Simulate(t, locktest.Scenario{Service: "redis", Claims: redis.SetnxFenced.Claims, TTL: ttl,
					Duration: time.Second, Seed: 3},
					func(n locktest.Nodes) (clients.Lock, error) {
						if n.TTL != ttl {
							return nil, fmt.Errorf("came to the call for %v, not %v", ttl, n.TTL)
						}
						return redis.SetnxFenced.Open(context.Background(), n.Config)
					})
			}
		})
	}
}

// TestSimulatedExam: a right lock stands in virtual time, too, and attacks are
// not made whose fault (a stall) or workload (relay) does not exist there.
func TestSimulatedExam(t *testing.T) {
	needed.Simulates(t)
	locktest.Exam(t, locktest.Examination{Service: "redis", Claims: redis.Setnx.Claims, KeepsAlive: true,
		Attacks: []string{"stop-work", "late-release", "stall-application", "nothing-relay"}, Simulated: true},
		func(n locktest.Nodes) (clients.Lock, error) { return redis.Setnx.Open(context.Background(), n.Config) })
}

// stubborn is a lock that anybody's release gives up.
func stubborn(n locktest.Nodes) (clients.Lock, error) {
	return redis.Open(n.Config, redis.Algorithm{Free: func(ctx context.Context, r redis.Request) (bool, error) {
		err := r.Client.Del(ctx, redis.LockKey(r.Key)).Err()
		return err == nil, err
	}})
}

// word is where the simulation's clients have it, too: they are given the
// user's flags as all clients are.
var word = flag.String("word", "", "a flag of the user's own")

// simulations are calls of Simulate that fail.
var simulations = map[string]func(*testing.T){
	"broken": func(t *testing.T) {
		locktest.Simulate(t, locktest.Scenario{Service: "redis", Fault: "pause-holder", Claims: redis.Setnx.Claims,
			Inherent: true, Seeds: 2}, stubborn)
	},
	"few": func(t *testing.T) {
		locktest.Simulate(t, locktest.Scenario{Service: "redis", Clients: 1, Duration: 100 * time.Millisecond},
			func(locktest.Nodes) (clients.Lock, error) {
				return locktest.Funcs{
					Acquire: func(ctx context.Context, _ string) (int64, error) { return 0, clients.Wait(ctx, 50*time.Millisecond) },
					Release: func(context.Context, string) error { return nil },
				}.Lock()
			})
	},
	"unreached": func(t *testing.T) {
		if locktest.Client() {
			t.Skip("no database here")
		}
		locktest.Simulate(t, locktest.Scenario{Service: "redis"}, stubborn)
	},
	"unopened": func(t *testing.T) {
		locktest.Simulate(t, locktest.Scenario{Service: "redis"},
			func(locktest.Nodes) (clients.Lock, error) { return nil, errors.New("no licence") })
	},
	"panics": func(t *testing.T) {
		locktest.Simulate(t, locktest.Scenario{Service: "redis"}, func(locktest.Nodes) (clients.Lock, error) { panic("out of luck") })
	},
	"service": func(t *testing.T) { locktest.Simulate(t, locktest.Scenario{Service: "zookeeper"}, stubborn) },
	"seeds":   func(t *testing.T) { locktest.Run(t, locktest.Scenario{Service: "redis", Seeds: 2}, stubborn) },
}

const simulationVar = "LOCKTEST_SIMULATION"

// TestSimulation is run as its user would; a client has no environment.
func TestSimulation(t *testing.T) {
	for name, call := range simulations {
		t.Run(name, func(t *testing.T) {
			if !locktest.Client() && os.Getenv(simulationVar) != name {
				t.Skip("it is run by others")
			}
			call(t)
		})
	}
}

// simulatedBy runs one of the simulations in a process of its own, and returns what it says.
func simulatedBy(t *testing.T, name string, env ...string) (output string, failed bool) {
	t.Helper()
	needed.Simulates(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestSimulation$/^"+name+"$", "-test.v")
	cmd.Env = append(append(os.Environ(), simulationVar+"="+name, "LOCKCHAOS_SEED=7", "LOCKCHAOS_RUNS="+t.TempDir()), env...)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(text), err != nil
}

// TestSimulationTold: whatever goes wrong, the test's output says what, and what to do.
func TestSimulationTold(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"broken": {`--- FAIL: TestSimulation/broken/seed-8/continuity`,
			`--- FAIL: TestSimulation/broken/seed-7/continuity`, `client \d +asks: release k0`, `ops of \d+ events are enough`,
			`STAND-IN: Simulated: the client library \(Simulation-broken\) ran in virtual time against miniredis`,
			`report: \S+/report.html`,
			`again: LOCKCHAOS_SEED=8 go test( -race)? -count=1 -run '\^TestSimulation\$/\^broken\$/\^seed-8\$'`},
		"few": {`inconclusive: .* grants.* The next try lasts twice as long`,
			`--- FAIL: TestSimulation/few/mutual-exclusion`, `again: LOCKCHAOS_SEED=7 go test`},
		"unreached": {`says nothing about the lock: .*the adapter "Simulation-unreached" ended`, `no database here`,
			`it must come to the same call of locktest`},
		"unopened": {`says nothing about the lock: .*no licence`},
		"panics":   {`says nothing about the lock: `, `panic: out of luck`},
		"service":  {`the simulation has the services redis, redis-five and etcd, and no zookeeper: locktest.Run`},
		"seeds":    {`Seeds is for Simulate`},
	} {
		t.Run(name, func(t *testing.T) {
			text, failed := simulatedBy(t, name)
			if !failed {
				t.Error("it passed")
			}
			for _, want := range want {
				if !regexp.MustCompile(want).MatchString(text) {
					t.Errorf("it does not say %s", want)
				}
			}
			if t.Failed() {
				t.Log(text)
			}
		})
	}
}

// TestSimulatedAgain: the command that a failure names gives the same history,
// byte for byte, in another process.
func TestSimulatedAgain(t *testing.T) {
	t.Parallel()
	history := func(run string, env ...string) string {
		dir := t.TempDir()
		simulatedBy(t, run, append(env, "LOCKCHAOS_RUNS="+dir)...)
		found, err := filepath.Glob(filepath.Join(dir, "*-seed-8-*", "history.jsonl"))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		text, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := history("broken")
	if again := history("broken$/^seed-8", "LOCKCHAOS_SEED=8", simulationVar+"=broken",
		"GOMAXPROCS=1"); again != first || len(first) < 10_000 {
		t.Errorf("%d bytes, and then %d others", len(first), len(again))
	}
}
