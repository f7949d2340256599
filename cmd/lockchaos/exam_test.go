package main

import (
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/harness/simulated"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/own"
	"github.com/lockchaos/lockchaos/internal/runs/pick"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// TestAttacksAreValid: what is made of the table for every lock is a scenario that would
// be accepted from a file, and no attack is without a lock on which it can be made.
func TestAttacksAreValid(t *testing.T) {
	needed.WithoutRace(t) // it makes plans, in one goroutine
	t.Parallel()
	table := attackTable(t)
	known, file, made := catalogue(), filepath.Join(t.TempDir(), "plan.yaml"), map[string]bool{}
	for _, k := range locks() {
		if k.Claims.Permits == 0 && k.Claims.Job == "" {
			continue
		}
		lock, err := pick.Examinee(ours(), k.Name, 0)
		if err != nil {
			t.Errorf("%s: %v", k.Name, err)
			continue
		}
		all, not := table.Of(lock)
		if len(all) < 20 || len(all)+len(not) != len(table.For(lock).Attacks) {
			t.Errorf("%s: %d attacks and %d left out, of %d", k.Name, len(all), len(not), len(table.Attacks))
		}
		for _, s := range all {
			made[s.Attack] = true
			p := scenarios.Plan{Seed: 1, Scenario: s}
			if err := p.Save(file); err != nil {
				t.Fatal(err)
			}
			again, err := scenarios.LoadPlan(file, known)
			if err != nil {
				t.Errorf("%s: %v", s.Name, err)
			} else if !reflect.DeepEqual(again.Scenario, s) {
				t.Errorf("%s: saved and read back it is another plan:\n%+v\n%+v", s.Name, again.Scenario, s)
			}
		}
	}
	for _, a := range table.Attacks {
		if !made[a.Name] {
			t.Errorf("attack %s can be made on no lock", a.Name)
		}
	}
}

// TestExamAtRealScale: every attack is stretched to the lease of production,
// and a longer one stays.
func TestExamAtRealScale(t *testing.T) {
	t.Parallel()
	for given, want := range map[time.Duration]scenarios.Duration{0: scenarios.RealTTL, time.Minute: scenarios.Duration(time.Minute)} {
		r := pick.Request{Settings: runs.Settings{Tool: ours()}, Names: []string{"redis-setnx"},
			Own: own.Program{TTL: given}, Real: true, Say: func(string) {}}
		plans, _, err := r.Exam(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range plans {
			if p.Scenario.TTL != want {
				t.Errorf("%s: a lease of %v, not %v", p.Scenario.Name, p.Scenario.TTL, want)
			}
		}
	}
}

// TestExamInVirtualTime: an attack that the simulation cannot run is left out before anything runs.
func TestExamInVirtualTime(t *testing.T) {
	needed.Simulates(t)
	t.Setenv(runs.InterpretVar, "1") // compiling takes longer than the test
	none := filepath.Join("..", "..", "internal", "harness", "testdata", "locks", "none")
	r := pick.Request{Settings: runs.Settings{Tool: ours()}, Where: runtimes.Where{Runtime: runtimes.Virtual},
		Own: own.Program{Go: none, Service: "redis"}, Say: func(string) {}}
	plans, exam, err := r.Exam(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plans {
		if why := simulated.WhyNot(p.Scenario, "redis"); why != "" {
			t.Errorf("%s is to be run: %s", p.Scenario.Name, why)
		}
	}
	relay := reports.NotApplicable{Attack: "nothing-relay", Why: "the simulation has no workload relay"}
	if len(plans) == 0 || !slices.Contains(exam.Not, relay) {
		t.Errorf("%d attacks, without %+v", len(plans), exam.Not)
	}
}

// TestAbilities: what an application can ask of a lock follows from what the lock says of itself.
func TestAbilities(t *testing.T) {
	for _, c := range []struct {
		claims clients.Claims
		want   []scenarios.Ability
	}{
		{clients.Claims{Validity: "from_invocation", Permits: 1}, nil},
		{clients.Claims{Validity: "session", Permits: 1},
			[]scenarios.Ability{scenarios.KeepsAlive, scenarios.RenewsItself, scenarios.TellsLoss}},
		{clients.Claims{Validity: "session", Permits: 1, NoExpiry: true}, []scenarios.Ability{scenarios.KeepsAlive, scenarios.TellsLoss}},
		{clients.Claims{Validity: "session", Confirms: []string{"held", "renew", "release"}, Permits: 1},
			[]scenarios.Ability{scenarios.CanRenew, scenarios.CanBeAsked, scenarios.KeepsAlive, scenarios.RenewsItself,
				scenarios.TellsLoss}},
		{clients.Claims{Validity: "library", LostGrace: 1, Permits: 1}, []scenarios.Ability{scenarios.TellsLoss}},
	} {
		got := possible.Examinee(clients.Kind{Claims: c.claims}, scenarios.Scenario{}).Abilities
		c.want = append(c.want, scenarios.IsAsked)
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, not %v", c.claims, got, c.want)
		}
	}
	leader := scenarios.Scenario{Adapter: scenarios.Adapter{Kind: scenarios.Leader}}
	if got := possible.Examinee(clients.Kind{Claims: clients.Claims{Permits: 1}}, leader).Abilities; len(got) > 0 {
		t.Errorf("a candidate for leadership: %v", got)
	}
}
