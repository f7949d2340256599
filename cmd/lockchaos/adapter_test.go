package main

import (
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/internal/runs/own"
	"github.com/lockchaos/lockchaos/scenarios"
)

// TestSubstitutes: of scenarios that differ only in their lock one is run, of
// the lock's own service if there is one; what does not suit is left out.
func TestSubstitutes(t *testing.T) {
	c, err := ours().Choose([]string{"quick"}, false)
	if err != nil {
		t.Fatal(err)
	}
	fencing := adapter.Declaration{Name: "x", Token: "fencing", Confirms: []string{"held"}, Permits: 1}
	for _, want := range []struct {
		service string
		says    adapter.Declaration
		names   string // with the lock whose place is taken
	}{
		{"redis", fencing, "redis-setnx/none/unfenced redis-setnx/pause-holder/unfenced redis-setnx-fenced/none/fenced redis-setnx-fenced/pause-holder/fenced " +
			"redis-setnx/pause-after-check/unfenced redis-setnx/payment/pause-holder/unfenced"},
		{"etcd", fencing, "etcd-lease/none/unfenced etcd-lease/pause-holder/unfenced etcd-lease/none/fenced etcd-lease/pause-holder/fenced " +
			"redis-setnx/pause-after-check/unfenced redis-setnx/payment/pause-holder/unfenced"},
		{"redis-five", adapter.Declaration{Name: "x", Token: "none", Permits: 1},
			"redis-setnx/none/unfenced redlock/pause-holder/unfenced redis-setnx/payment/pause-holder/unfenced"},
		{"none", adapter.Declaration{Name: "x", Token: "owner", Can: []string{"held"}, Permits: 1},
			"redis-setnx/none/unfenced redis-setnx/pause-holder/unfenced " +
				"redis-setnx/pause-after-check/unfenced redis-setnx/payment/pause-holder/unfenced"},
	} {
		var names []string
		lock := own.Lock{Adapter: scenarios.Adapter{Service: want.service}, Says: want.says}
		for _, s := range lock.Substitutes(c.Scenarios, ours()) {
			if lock.Unfit(s, ours()) == "" {
				names = append(names, s.Name)
			}
		}
		if got := strings.Join(names, " "); got != want.names {
			t.Errorf("%s:\n got %s\nwant %s", want.service, got, want.names)
		}
	}
}

// TestAdaptersTellTheirSessions: where a client must tell its session for it to be ended, an
// adapter that tells none keeps its own; where the service knows by itself, it can be ended.
func TestAdaptersTellTheirSessions(t *testing.T) {
	s := scenarios.Scenario{Workload: scenarios.Workload{Kind: "counter"},
		Faults: []scenarios.Fault{{Kind: "expire-session", Target: "holder", When: "before-write"}}}
	for service, want := range map[string]string{"etcd": "does not tell", "zookeeper": "does not tell", "postgres": "",
		"redis": "expire-session"} {
		lock := own.Lock{Adapter: scenarios.Adapter{Service: service}, Says: adapter.Declaration{Permits: 1}}
		if why := lock.Unfit(s, ours()); want == "" && why != "" || !strings.Contains(why, want) {
			t.Errorf("%s: %q, want %q", service, why, want)
		}
		lock.Says.Sessions = true
		if why := lock.Unfit(s, ours()); (why == "") != (service != "redis") {
			t.Errorf("%s, which tells its sessions: %q", service, why)
		}
	}
}

// TestUnfit: each reason, on a scenario of the full suites that has it.
func TestUnfit(t *testing.T) {
	suites, err := scenarios.Builtin(catalogue())
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]bool{}
	lock := own.Lock{Adapter: scenarios.Adapter{Service: "redis"}, Says: adapter.Declaration{Name: "x", Token: "none", Permits: 1}}
	for _, suite := range suites {
		for _, s := range suite.Scenarios {
			why := lock.Unfit(s, ours())
			if why == "" {
				s.Lock, s.Adapter, s.Expect = "mine", scenarios.Adapter{Command: "x", Service: "redis"}, scenarios.Expect{}
				if s.Store.Fenced() || s.Workload.Guard == "check" {
					t.Errorf("%s does not suit, and was taken", s.Name)
				}
			}
			for _, word := range []string{"without a lock", "broken on purpose", "no fencing token", "about a queue",
				"has readers", "another number of permits", "can't be asked", "target"} {
				reasons[word] = reasons[word] || strings.Contains(why, word)
			}
		}
	}
	for word, seen := range reasons {
		if !seen {
			t.Errorf("nothing was left out because of %q", word)
		}
	}
}

// TestAttacksFollowClaims: of the attacks that scenarios name, those are left
// out that the claims of the user's own lock do not invite.
func TestAttacksFollowClaims(t *testing.T) {
	lease := own.Lock{Adapter: scenarios.Adapter{Service: "redis"}, Says: adapter.Declaration{Name: "x", Token: "none", Permits: 1}}
	session := lease
	session.Says.Validity = "session"
	for attack, want := range map[string]string{"": "", "late-release": "",
		"nothing-long": "does not keep its grants alive", "cut-off-asking": "can't be asked",
		"end-session-work": "can't be asked", "no-such": "no attack named"} {
		if why := lease.Unfit(scenarios.Scenario{Attack: attack}, ours()); want == "" && why != "" || !strings.Contains(why, want) {
			t.Errorf("%s: %q, want %q", attack, why, want)
		}
	}
	if why := session.Unfit(scenarios.Scenario{Attack: "nothing-long"}, ours()); why != "" {
		t.Errorf("a lock that keeps itself alive is spared: %s", why)
	}
}

// TestStretched: with another TTL a frozen holder is still frozen past its lease.
func TestStretched(t *testing.T) {
	c, err := ours().Choose([]string{"redis-setnx/pause-holder/unfenced"}, false)
	if err != nil {
		t.Fatal(err)
	}
	s := c.Scenarios[0]
	before := s.Faults[0].For
	l := s.Stretched(scenarios.Duration(2 * time.Second))
	if l.TTL.Std() != 2*time.Second || l.Faults[0].For != 4*before || l.Duration < 3*l.Faults[0].For ||
		l.Workload.AcquireTimeout < 4*l.TTL {
		t.Errorf("%+v", l)
	}
	if s.Faults[0].For != before || s.Stretched(s.TTL).Faults[0].For != before {
		t.Error("the scenario that was stretched has changed")
	}
}
