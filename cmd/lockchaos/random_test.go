package main

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/runs/pick"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// What is drawn for every lock, those that are broken on purpose too, is a
// scenario that would be accepted from a file, with the same seed the same; and
// every lock on a service gets faults of several kinds.
func TestRandomScenariosAreValid(t *testing.T) {
	suites, err := scenarios.Builtin(catalogue())
	if err != nil {
		t.Fatal(err)
	}
	known := catalogue()
	can := runtimes.Capabilities{Faults: map[string]bool{}}
	for _, k := range nemesis.Kinds() {
		can.Faults[k.Name] = true
	}
	file := filepath.Join(t.TempDir(), "plan.yaml")
	for _, k := range locks() {
		base, ok := scenarios.Undisturbed(suites, k.Name)
		if !ok && k.Control == "herd" {
			continue // it shows in a stampede only, whose service is not disturbed
		}
		if !ok {
			t.Errorf("%s: there is no scenario to start from", k.Name)
			continue
		}
		if len(base.Faults) > 0 || base.Lock != k.Name {
			t.Errorf("%s: starts from %+v", k.Name, base)
		}
		kinds := map[string]bool{}
		for seed := range uint64(3) {
			lock := pick.Request{}.RandomLock(k, base, can)
			p := scenarios.Plan{Seed: seed, Scenario: scenarios.Random(seed, lock, scenarios.Duration(10*time.Second))}
			if err := p.Save(file); err != nil {
				t.Fatal(err)
			}
			again, err := scenarios.LoadPlan(file, known)
			if err != nil {
				t.Errorf("%s, seed %d: %v", k.Name, seed, err)
				continue
			}
			if !reflect.DeepEqual(again.Scenario.Faults, p.Scenario.Faults) ||
				!reflect.DeepEqual(again.Scenario.Expect, p.Scenario.Expect) {
				t.Errorf("%s, seed %d: saved and read back it is another plan", k.Name, seed)
			}
			for _, f := range p.Scenario.Faults {
				for _, one := range f.Singles() {
					kinds[one.Kind] = true
				}
			}
		}
		if len(kinds) < 4 {
			t.Errorf("%s: only %v", k.Name, kinds)
		}
	}
}
