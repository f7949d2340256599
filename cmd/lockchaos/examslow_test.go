package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/scenarios"
)

// TestExamOfSlowLocks: a correct lock passes an exam whose lease is 15 s and that
// answers at once, so that clients seldom wait for it. So does one that looks every
// 20 s whether the key is free. What attacks need of them follows from their pace.
func TestExamOfSlowLocks(t *testing.T) {
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	if !soaking() {
		t.Skip("it takes some minutes: set " + soakVar + "=1")
	}
	python, redis := needed.Program(t, "python3"), needed.Program(t, "redis-server")
	if python == "" || redis == "" {
		return
	}
	examples, err := filepath.Abs("../../examples/python")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, pause string
		longer      bool // whether its pace makes attacks longer
	}{
		{"answers at once", "-1", false},
		{"looks seldom", "20", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "runs")
			command := "env PYTHONPATH=" + examples + " " + python + " testdata/slow/lock.py 15 " + c.pause
			var out, errs bytes.Buffer
			code := execute(t.Context(), []string{"exam", "--lock-cmd", command, "--service", "redis", "--attack",
				"nothing-work,kill-work,lost-release", "--budget", "20m", "--out", dir}, &out, &errs)
			if code != 0 || strings.Count(out.String(), "  stood") != 3 {
				t.Fatalf("status %d\n%s%s", code, out.String(), errs.String())
			}
			plans, err := filepath.Glob(filepath.Join(dir, runs.LatestLink, "*.kill-work.*", runs.PlanFile))
			if err != nil || len(plans) != 1 {
				t.Fatalf("%v %s", err, plans)
			}
			p, err := scenarios.LoadPlan(plans[0], catalogue())
			if err != nil {
				t.Fatal(err)
			}
			if usual := 4 * p.Scenario.TTL; c.longer && p.Scenario.Duration <= usual {
				t.Errorf("the attack lasted %v, as on a lock that hands over at once", p.Scenario.Duration)
			}
		})
	}
}
