//go:build !wasip1

package locktest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/harness/simulated"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Simulate is Run in virtual time: without namespaces and without a server, and
// the same seed gives the same history, byte for byte. The tests of the package
// are compiled to WebAssembly, and each client is an instance of them that has
// come to the same call of Simulate. See the package's documentation.
func Simulate(t *testing.T, s Scenario, open Open) {
	t.Helper()
	call := nextCall(t)
	if me.client {
		return // a call of another's
	}
	test := t.Name()
	program, first := s.simulated(t)
	if s.Seeds <= 1 || testing.Short() {
		simulate(t, s, program, test, call, first)
		return
	}
	for seed := first; seed < first+uint64(s.Seeds); seed++ {
		t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) {
			t.Helper()
			t.Parallel()
			simulate(t, s, program, test, call, seed)
		})
	}
}

// simulated is the program that clients are, and the first seed. It ends the
// test where the scenario can't be simulated.
func (s Scenario) simulated(t *testing.T) (program *sim.Program, seed uint64) {
	t.Helper()
	full, err := s.full(t.Name())
	if err == nil {
		seed, err = s.seed()
	}
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	if why := simulated.WhyNot(full, s.Service); why != "" {
		t.Fatal(shown("locktest: %s: %s: locktest.Run", full.Name, why))
	}
	if why := unbuildable(); why != "" {
		missing(t, why)
	}
	if program, err = compiled(); err != nil {
		t.Fatal(shown("locktest: %s", harmless.Block(err.Error(), "")))
	}
	return program, seed
}

// simulate runs one seed of the call of a test.
func simulate(t *testing.T, s Scenario, program *sim.Program, test string, call int, seed uint64) {
	t.Helper()
	r := &run{t: t, given: s, test: test}
	if err := r.prepare(seed); err != nil {
		t.Fatalf("locktest: %v", err)
	}
	lock := s.lock(r.plan.Scenario.Lock).Kind()
	r.tell(r.execute(&runs.Simulated{
		Locks:   func(*scenarios.Scenario) (clients.Kind, error) { return lock, nil },
		Program: func(context.Context, *scenarios.Scenario) (*sim.Program, error) { return program, nil },
		Start:   clientStart(test, call),
	}))
}

// clientStart is how the clients of a test's call are started.
func clientStart(test string, call int) sim.Start {
	return sim.Start{Args: append([]string{"test", "-test.v"}, clientArgs(test)...),
		Env: []string{fmt.Sprintf("%s=%s %d %s", roleVar, roleChild, call, test)}, In: simulatedIn, Out: simulatedOut}
}

// home is the folder of the tests' package, in which go test starts them.
var home, _ = os.Getwd() // without one nothing can be built there, and that is told

// unbuildable says why the tests can't be compiled here; "": they may be.
func unbuildable() string {
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Sprintf("Simulate compiles the tests with the go command: %v", err)
	}
	// the pattern is right
	if found, _ := filepath.Glob(filepath.Join(home, "*_test.go")); len(found) == 0 {
		return fmt.Sprintf("Simulate compiles the tests, and %s has no sources of them: use go test", home)
	}
	return ""
}

// compiled is the tests of this package as a program for the simulation. It
// lives as long as they do.
var compiled = sync.OnceValues(func() (*sim.Program, error) {
	ctx := context.Background()
	wasm, err := sim.BuildTest(ctx, home, buildTags())
	if err != nil {
		return nil, fmt.Errorf("%w\n//go:build !wasip1 leaves a file out of the simulation", err)
	}
	return sim.Load(ctx, wasm, sim.Options{Interpret: os.Getenv(runs.InterpretVar) == "1"})
})

// buildTags are those with which this test was built.
func buildTags() string {
	info, _ := debug.ReadBuildInfo()
	if info != nil {
		for _, s := range info.Settings {
			if s.Key == "-tags" {
				return s.Value
			}
		}
	}
	return ""
}
