package exhaustive

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/broken"
	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/internal/harness"
	"github.com/lockchaos/lockchaos/internal/harness/simulated"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// controls is the program of all controls.
var controls = sync.OnceValues(func() ([]byte, error) {
	return sim.Build(context.Background(), filepath.Join("..", "harness", "testdata", "locks", "controls"))
})

// controlled prepares a search of a control.
func controlled(t *testing.T, k clients.Kind) *Search {
	t.Helper()
	needed.Simulates(t)
	wasm, err := controls()
	if err != nil {
		t.Fatal(err)
	}
	p, err := sim.Load(t.Context(), wasm, sim.Options{Interpret: os.Getenv(runs.InterpretVar) == "1"}) // one of its own, which keeps starts
	if err != nil {
		t.Fatal(err)
	}
	x := searchOf(t, p, runs.GoTest{Lock: k.Name, Service: k.Service, Claims: k.Claims}.Kind(), "")
	x.Start = sim.Start{Args: []string{"control", k.Name}}
	return x
}

// naming is the lock, if it made the names of its clients itself.
func naming(k clients.Kind) clients.Kind {
	k.Claims.Identity = "unique"
	return k
}

// TestFindsTheControls: a lock that is broken on purpose falls by a single fault, or by none,
// though nobody has written an attack on it. Of a control that falls rarely, only one fault is
// tried, at each of its places: the whole search tries that, too, after more of others.
func TestFindsTheControls(t *testing.T) {
	for _, c := range []struct {
		kind clients.Kind
		// by is one fault that is tried; "": all are. shows is the property that it violates; "":
		// the control's. without: it falls undisturbed.
		by, shows string
		without   bool
		fate      reports.Fate
	}{
		{broken.Del, "", checker.MutualExclusion, false, reports.FellDefect},
		{broken.TwoStep, "", "", false, reports.FellDefect},
		{broken.SetnxExpire, "killed", "", false, reports.FellDefect},
		{broken.NoTTL, "", "", false, reports.FellDefect},
		{broken.RedlockNoQuorum, "", "", false, reports.FellDefect},
		{broken.RedlockNoValidity, "node paused 2.5 leases", "", false, reports.FellDefect},
		{broken.WatchdogBlind, "", "", false, reports.FellDefect},
		{broken.RetryBlind, "reply lost with its connection, so the client may ask twice", "", false, reports.FellDefect},
		{broken.TokenClock, "", "", true, reports.FellDefect},
		{broken.WallClock, "its wall clock back", "", false, reports.FellDefect},
		// It makes the names of its clients, and breaks by its clock all the same.
		{naming(broken.ClientExpiry), "its wall clock ahead", "", false, reports.FellDefect},
		{broken.OneConnection, "its connections reset", "", false, reports.FellDefect},
		{broken.ReadersYield, "", "", true, reports.FellDefect},
		{broken.Sleeper, "", "", true, reports.FellDefect},
		{broken.ReleaseUnseen, "", "", true, reports.FellDefect},
		// The names are its user's. So it is open whose fault it is that one comes back.
		{broken.OwnName, "killed", "", false, reports.FellUnclear},
		{broken.HostPID, "", "", true, reports.FellDefect},
	} {
		t.Run(c.kind.Name, func(t *testing.T) {
			x := controlled(t, c.kind)
			x.begin()
			calm, err := x.survey(t.Context())
			if err != nil || (calm.Fate() == reports.Stood) == c.without {
				t.Fatalf("undisturbed: %v, %v", calm.CameTo(), err)
			}
			plan := x.plan
			if !c.without {
				if c.by != "" {
					x.all = slices.DeleteFunc(x.all, func(s schedule) bool { return s.Column != c.by })
				}
				plan = x.planOf(x.all[tryUntil(t, x, c.fate)])
			} else if calm.Fate() != c.fate {
				t.Errorf("undisturbed: %v", calm.CameTo())
			}
			h, err := x.run(t.Context(), plan, nil)
			if err != nil {
				t.Fatal(err)
			}
			v := checker.Judge(h, checker.Options{})
			shows := cmp.Or(c.shows, c.kind.Control)
			if p := v.Property(shows); p == nil || p.Outcome != checker.Violated {
				t.Errorf("%v shows no %s: %+v", plan.Scenario.Faults, shows, p)
			}
			for _, two := range v.Property(checker.MutualExclusion).Violations {
				if (two.Kind == checker.KindSameIdentity) != (c.kind.Name == broken.HostPID.Name) {
					t.Errorf("two held it at a time by %s", two.Kind)
				}
			}
		})
	}
}

// TestCorrectLocksStand: of a lock that is correct a sample of the schedules shows no defect, and
// nothing without a clear cause.
func TestCorrectLocksStand(t *testing.T) {
	for _, k := range []clients.Kind{redis.Setnx, etcd.Lease} {
		t.Run(k.Name, func(t *testing.T) {
			x := controlled(t, k)
			sampled(t, x, 2*sampleEvery(t))
			if err := x.tryAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Log(counted(x))
			for _, f := range x.study().Falls {
				t.Log(f.Fate, f.What, f.Marks[0])
				for _, wrong := range []reports.Fate{reports.FellDefect, reports.FellUnclear, reports.NotRun} {
					if f.Fate == wrong.String() {
						t.Errorf("%s: %s, %v", f.Fate, f.What, f.Marks[0])
					}
				}
			}
		})
	}
}

// TestOtherOrders: a lock that asks five nodes at once has instants of many events. Each other
// order of these is a run that comes to its end, by itself and with a fault, and some are other
// runs.
func TestOtherOrders(t *testing.T) {
	x := controlled(t, broken.RedlockNoValidity)
	sampled(t, x, 1)
	var alone, struck []schedule
	for _, s := range x.all {
		switch {
		case s.Column == anotherOrder:
			alone = append(alone, s)
		case s.Order != nil:
			struck = append(struck, s)
		}
	}
	t.Log(len(x.all), len(alone), len(struck))
	if len(alone) == 0 || len(struck) == 0 {
		t.Fatalf("%d other orders, and %d with a fault", len(alone), len(struck))
	}
	const some = 12
	traced := func(plan scenarios.Plan) string {
		var trace strings.Builder
		if err := harness.Simulate(t.Context(), simulated.Config{Plan: plan, Lock: x.Lock, Program: x.Program, Start: x.Start,
			History: io.Discard, Trace: &trace}); err != nil {
			t.Fatalf("%+v: %v", plan.Simulation.Order, err)
		}
		return regexp.MustCompile(`#-?[0-9]+ `).ReplaceAllString(trace.String(), "") // numbers of connections
	}
	calm, others := traced(x.plan), 0
	for _, i := range spread(countTo(len(alone)))[:min(some, len(alone))] {
		if traced(x.planOf(alone[i])) != calm {
			others++
		}
	}
	if others == 0 {
		t.Error("no other order makes another run")
	}
	for _, i := range spread(countTo(len(struck)))[:min(some, len(struck))] {
		if _, err := x.tryPlan(t.Context(), i, x.planOf(struck[i])); err != nil {
			t.Errorf("%v: %v", struck[i].mark(), err)
		}
	}
}

func countTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}
