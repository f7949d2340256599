package experiments

import (
	"errors"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/own"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// What the real service showed is counted by the property and by whose fault it was.
func TestShown(t *testing.T) {
	verdict := func(property, kind string) reports.Scenario {
		p := checker.PropertyResult{Name: property, Outcome: checker.Violated,
			Violations: []checker.Violation{{Property: property, Kind: kind}}}
		p.Count = 1
		return reports.Scenario{Verdict: checker.Verdict{Properties: []checker.PropertyResult{p}}}
	}
	s := Shown{Service: "redis", Tries: 4, Needs: "luck"}
	for _, sc := range []reports.Scenario{verdict(checker.MutualExclusion, checker.KindLeaseOverrun),
		verdict(checker.LostUpdate, ""), {Failed: "no redis"}, {}} {
		s.take(sc, checker.MutualExclusion)
	}
	if got := s.String(); got != "not shown on a real redis in 4 tries: its schedule needs luck; 1 of the tries failed, and say nothing" {
		t.Error(got)
	}
	s.take(verdict(checker.MutualExclusion, checker.KindGrantedWhileValid), checker.MutualExclusion)
	s.Failed, s.StandIns = 0, []string{"It was an imitation."}
	if got := s.String(); got != "shown on a real redis in 1 of 4 tries. It was an imitation." {
		t.Error(got)
	}
}

// The real plan has the lock's program of this machine, and the faults that exist there; what does
// not, is named.
func TestReplayKeepsWhatExistsThere(t *testing.T) {
	r := &Replay{lock: &own.Lock{Name: "mine", Adapter: scenarios.Adapter{Command: "./mine", Service: "redis"}},
		where: runtimes.Where{Runtime: runtimes.Local}, can: runtimes.Capabilities{Faults: map[string]bool{"pause": true}}}
	found := scenarios.Plan{Seed: 7, Simulation: &scenarios.Simulation{},
		Scenario: scenarios.Scenario{Name: "explore/mine", Faults: []scenarios.Fault{
			{Kind: "pause", Target: "holder", When: "after-grant"}, {Kind: "loss", Target: "holder"}}}}
	plan, missing := r.plan(found)
	if plan.Simulation != nil || plan.Scenario.Adapter.Command != "./mine" || plan.Scenario.Name != "mine/real" ||
		len(plan.Scenario.Faults) != 1 || plan.Scenario.Faults[0].Kind != "pause" {
		t.Errorf("%+v", plan)
	}
	if len(missing) != 1 || !strings.Contains(missing[0], "loss-holder (this machine cannot do it)") {
		t.Error(missing)
	}
	found.Scenario.Faults = found.Scenario.Faults[1:]
	shown, err := r.Do(t.Context(), found, checker.MutualExclusion)
	if want := "not tried on a real redis; left out, since it does not exist there: loss-holder (this machine cannot do it)"; err != nil || shown.String() != want {
		t.Errorf("%v, %q", err, shown)
	}
}

func TestCheckThen(t *testing.T) {
	for _, c := range []struct {
		ReplayOptions
		runtime  string
		repeated bool
		ok       bool
	}{{ReplayOptions{}, "auto", true, true}, {ReplayOptions{"local", 5}, "sim", false, true}, {ReplayOptions{"docker", 5}, "sim", false, false},
		{ReplayOptions{"local", 0}, "sim", false, false},
		{ReplayOptions{"local", 5}, "local", false, false}, {ReplayOptions{"local", 5}, "sim", true, false}} {
		if err := c.Check(c.runtime, c.repeated); (err == nil) != c.ok || err != nil &&
			exit.Of(err) != exit.Of(exit.Misuse(errors.New(""))) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
