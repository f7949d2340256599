package runs

import (
	"testing"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// What the machine can't do is skipped before it starts, with the same words
// for each scenario that needs it.
func TestWhatTheMachineCannotDo(t *testing.T) {
	const why = "open it: permission denied; to do: mend it"
	for _, k := range nemesis.Kinds() {
		plan := scenarios.Plan{Scenario: scenarios.Scenario{Faults: []scenarios.Fault{{Kind: nemesis.KindPause}, {Kind: k.Name}}}}
		for answer, skipped := range map[string]bool{"": false, why: true} {
			where := PrivateNetwork{Locks: func(*scenarios.Scenario) (clients.Kind, error) {
				return clients.Kind{},
					nil
			}, Able: func() func(nemesis.Need) string { return func(nemesis.Need) string { return answer } }}
			want := ""
			if skipped && k.Needs != nemesis.NeedsNothing && k.Needs != nemesis.NeedsLocal {
				want = string(k.Needs) + ": " + why
			}
			if got := where.Skip(plan); got != want {
				t.Errorf("%s, of which the probe says %q, is skipped because of %q, want %q", k.Name, answer, got, want)
			}
		}
	}
}

// What the stand-in can't do is skipped before it starts, and so is a store's missing
// server. What the user got wrong is not: it ends the run before anything begins.
func TestWhatTheStandInCannotDo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv(backends.RedisVar, "")
	where := PrivateNetwork{
		Locks: func(*scenarios.Scenario) (clients.Kind, error) { return clients.Kind{Service: "redis"}, nil },
		Able:  func() func(nemesis.Need) string { return func(nemesis.Need) string { return "" } },
	}
	crash := func(data string) scenarios.Scenario {
		return scenarios.Scenario{Faults: []scenarios.Fault{{Kind: nemesis.KindCrash, Target: "nodes:1", Data: data}}}
	}
	for want, s := range map[string]scenarios.Scenario{
		"": crash("lost"),
		"the stand-in has no restart that keeps data: apt-get install redis-server (or valkey-server)": crash("kept"),
		"mariadb-install-db was not found on this machine: apt-get install mariadb-server":             {Store: scenarios.Store{Kind: "unfenced", Engine: "mariadb"}},
	} {
		p := scenarios.Plan{Scenario: s}
		if got := where.Skip(p); got != want {
			t.Errorf("%+v is skipped because of %q, want %q", s, got, want)
		}
		if err := where.Check([]scenarios.Plan{p}); err != nil {
			t.Error(err)
		}
	}
	t.Setenv(backends.RedisVar, "/no/such/redis")
	p := scenarios.Plan{Scenario: crash("lost")}
	if err := where.Check([]scenarios.Plan{p}); err == nil || where.Skip(p) != "" {
		t.Errorf("a variable that names no program: %v, skipped because of %q", err, where.Skip(p))
	}
}
