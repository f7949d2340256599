package scenarios

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/nemesis"
)

func randomLock(fits func(Fault) error) RandomLock {
	const ms = Duration(time.Millisecond)
	base := Scenario{Lock: "redis-setnx", TTL: 500 * ms, Clients: 4, Keys: 1, Store: Store{Kind: storeUnfenced}, Needs: usualNeeds,
		Workload: Workload{Kind: "counter", Guard: "none", AcquireTimeout: 8000 * ms, OpTimeout: 8000 * ms}}
	return RandomLock{Nature: Nature{Permits: 1, WallClock: true}, Base: base, Fits: fits, Together: func(parts []Fault) error {
		for i, p := range parts {
			if slices.ContainsFunc(parts[i+1:], func(o Fault) bool { return o.Kind == p.Kind }) ||
				slices.Contains([]string{"kill", "hold", "cut", "stall"}, p.Kind) {
				return errors.New("apart")
			}
		}
		return nil
	}}
}

// The same seed draws the same, another one another, and over some seeds every
// fault of the arsenal comes up.
func TestRandomScenariosRepeat(t *testing.T) {
	any := randomLock(func(Fault) error { return nil })
	const d = Duration(10 * time.Second)
	kinds, combined := map[string]bool{}, 0
	for seed := range uint64(200) {
		a, b := Random(seed, any, d), Random(seed, any, d)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("seed %d draws two scenarios", seed)
		}
		if reflect.DeepEqual(a.Faults, Random(seed+1, any, d).Faults) {
			t.Errorf("seeds %d and %d draw the same", seed, seed+1)
		}
		if a.Duration != d || a.Quiet <= 0 || a.Quiet >= d || a.Needs.Bites < 1 || len(a.Faults) != 2 {
			t.Errorf("seed %d: %+v", seed, a)
		}
		for _, f := range a.Faults {
			for _, one := range f.Singles() {
				kinds[one.Kind] = true
				if one.For > d/2 {
					t.Errorf("seed %d: %+v lasts too long", seed, one)
				}
			}
			if slices.ContainsFunc(f.Mix, func(p Fault) bool { return p.Together != nil }) {
				combined++
			}
		}
	}
	for _, w := range nemesis.Draws() {
		if !kinds[w.Kind] {
			t.Errorf("%s was never drawn", w.Kind)
		}
	}
	if combined < 60 {
		t.Errorf("%d of 200 seeds strike with several faults at once", combined)
	}
}

// What does not fit is not drawn, not even as a part; and where nothing fits
// there is no fault, and no hang.
func TestRandomScenariosFit(t *testing.T) {
	fits := func(f Fault) error {
		if f.Kind != "pause" && f.Kind != "partition" {
			return errors.New("not here")
		}
		return nil
	}
	for seed := range uint64(50) {
		for _, f := range Random(seed, randomLock(fits), Duration(10*time.Second)).Faults {
			for _, one := range f.Singles() {
				if fits(one) != nil {
					t.Errorf("seed %d: %+v", seed, one)
				}
			}
		}
	}
	if s := Random(1, randomLock(func(Fault) error { return errors.New("no") }), Duration(time.Second)); len(s.Faults) > 0 {
		t.Errorf("%+v", s.Faults)
	}
}

// Faults that keep a client from sending are outlasted by those that lie on its
// links, and no two lie on links.
func TestWhatStrikesTogetherMeets(t *testing.T) {
	any := randomLock(func(Fault) error { return nil })
	for seed := range uint64(200) {
		for _, f := range Random(seed, any, Duration(10*time.Second)).Faults {
			for _, p := range f.Mix {
				if p.Together == nil {
					continue
				}
				if !disjoint(p.Together) || any.Together(p.Together) != nil {
					t.Errorf("seed %d: %+v", seed, p.Together)
				}
				for _, stop := range p.Together {
					for _, link := range p.Together {
						if stop.Spec().Stops() && link.onLinks() && link.For < stop.For+Duration(nemesis.LinkFloor) {
							t.Errorf("seed %d: %+v", seed, p.Together)
						}
					}
				}
			}
		}
	}
}
