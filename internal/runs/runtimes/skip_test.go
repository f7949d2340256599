package runtimes

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/clients"
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
