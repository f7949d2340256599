package exhaustive

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/reports"
)

// TestProgramThatEnds: a program that ends under a fault is what that schedule came to, with its
// reason, and not the end of the search.
func TestProgramThatEnds(t *testing.T) {
	needed.Simulates(t)
	wasm, err := sim.Build(t.Context(), filepath.Join("..", "harness", "testdata", "locks", "brittle"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := sim.Load(t.Context(), wasm, sim.Options{Interpret: true})
	if err != nil {
		t.Fatal(err)
	}
	x := searched(t, p, "")
	sampled(t, x, 1)
	n := 0
	for n < len(x.all) && (x.all[n].Host != "client-1" || x.all[n].Column != "its wall clock back" || x.all[n].Place.step("client-1") != stepHolding) {
		n++
	}
	if n == len(x.all) {
		t.Fatal("the fault has no place")
	}
	if err := x.tryOne(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if o := x.done[n]; o.Fate != reports.NotRun.String() || !strings.Contains(o.What, "client 1") {
		t.Errorf("%+v", o)
	}
	if c := x.study(); Status(c) != exit.Failed || len(c.Falls) != 1 {
		t.Errorf("%v", c.Lines())
	}
}
