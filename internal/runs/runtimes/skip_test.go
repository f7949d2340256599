package runtimes

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// What needs nodes that lockchaos started itself is skipped where somebody else
// did, and says so; nothing else is.
func TestWhatContainersCannotBear(t *testing.T) {
	for _, k := range nemesis.Kinds() {
		plan := scenarios.Plan{Scenario: scenarios.Scenario{Faults: []scenarios.Fault{{Kind: k.Name}}}}
		why := new(Containers).Skip(plan)
		if local := strings.HasPrefix(string(k.Needs), string(nemesis.NeedsLocal)); local != (why != "") {
			t.Errorf("%s needs %s, and is skipped because of %q", k.Name, k.Needs, why)
		}
		if why != "" && (!strings.Contains(why, k.Name) || !strings.Contains(why, "--runtime local")) {
			t.Errorf("%s: %q does not say what to do", k.Name, why)
		}
	}
}

// TestWhatIsNotSimulated: a lock that is no Go program, and a service that the
// simulation does not have, are skipped with what to do.
func TestWhatIsNotSimulated(t *testing.T) {
	kind := func(s *scenarios.Scenario) (clients.Kind, error) {
		return clients.Kind{Service: s.Adapter.Service}, nil
	}
	for want, a := range map[string]scenarios.Adapter{
		"give --lock-go DIR":            {Command: "./lock", Service: "redis"},
		"no zookeeper: --runtime local": {Go: ".", Service: "zookeeper"},
		"":                              {Go: ".", Service: "redis"},
	} {
		why := newSimulated(kind, false).Skip(scenarios.Plan{Scenario: scenarios.Scenario{Adapter: a}})
		if why != "" && want == "" || !strings.Contains(why, want) {
			t.Errorf("%+v: %q, want %q", a, why, want)
		}
	}
}

// TestDrawnNodes: on a given Redis, which may be a cluster, no fault is aimed at a node that is
// drawn at random: it may have none of the run's keys.
func TestDrawnNodes(t *testing.T) {
	can := Capabilities{where: Where{Runtime: External}, Faults: map[string]bool{nemesis.KindPartition: true}}
	for _, c := range []struct {
		service, target string
		fits            bool
	}{
		{"redis", "nodes:1", false}, {"redis", "minority", false}, {"redis", "redis-3", true},
		{"redis", "holder", true}, {"etcd", "nodes:1", true},
	} {
		f := scenarios.Fault{Kind: nemesis.KindPartition, Target: c.target, Peers: "clients"}
		err := can.Fitting(c.service, func(scenarios.Fault) error { return nil })(f)
		if (err == nil) != c.fits || err != nil && !strings.Contains(err.Error(), "may have none of the run's keys") {
			t.Errorf("%s of %s: %v", c.target, c.service, err)
		}
	}
	redis, _ := backends.Lookup("redis")
	g := &Servers{clusters: []gathered{{of: redis}}, Locks: func(*scenarios.Scenario) (clients.Kind, error) {
		return clients.Kind{Service: "redis"}, nil
	}}
	for target, fits := range map[string]bool{"nodes:1": false, "redis-3": true} {
		plan := scenarios.Plan{Scenario: scenarios.Scenario{Faults: []scenarios.Fault{{Kind: nemesis.KindPartition, Target: target,
			Peers: "clients", When: "random"}}}}
		if refused := Beyond(plan, g.reach(plan)); (len(refused) == 0) != fits {
			t.Errorf("%s of a cluster: %v", target, refused)
		}
	}
}
