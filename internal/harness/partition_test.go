package harness

import (
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/clients/redlock"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// proven fails the test unless every fault that ended has proof that it bit, with
// all the words in it. A run in which none met whom it was aimed at decides nothing.
func proven(t *testing.T, h *history.History, words ...string) []*history.FaultInfo {
	t.Helper()
	all := ends(h)
	if len(all) == 0 {
		decided.Lacks("a fault that was injected")
	}
	met := 0
	for _, f := range all {
		if !f.Bit { // such as a throttle of who got no processor anyway
			decided.Lacks("a proof of each fault: %+v", f)
		}
		if f.From <= 0 || f.To <= f.From {
			amiss(t, h, "a fault without its time: %+v", f)
		}
		for _, w := range words {
			if !strings.Contains(f.Evidence, w) {
				t.Errorf("the proof does not tell of %q: %s", w, f.Evidence)
			}
		}
		if f.Holding != 0 || f.Service || f.When == string(nemesis.Acquiring) {
			met++
		}
	}
	if met == 0 {
		decided.Lacks("a fault that met somebody")
	}
	return all
}

// amiss fails the test for what only this machine could excuse. If it stalled,
// the run decides nothing.
func amiss(t *testing.T, h *history.History, format string, args ...any) {
	t.Helper()
	if n := stalls(h); n > 0 {
		decided.Lacks("a machine that does not stall (%d stalls): "+format, append([]any{n}, args...)...)
	}
	t.Errorf(format, args...)
}

// cameTo judges a history by one property. A run that leaves it open decides nothing, nor
// does one that does not show a violation: what breaks a lock need not strike in every run.
func cameTo(t *testing.T, h *history.History, property string, want checker.Outcome) *checker.PropertyResult {
	t.Helper()
	v := checker.Judge(h, checker.Options{})
	r := v.Property(property)
	switch {
	case r == nil:
		t.Fatalf("%s is not among the properties", property)
	case r.Outcome == want:
	case r.Outcome == checker.Inconclusive:
		decided.Lacks("a decision on %s: %s", property, r.Why)
	case want == checker.Violated:
		decided.Lacks("a violation of %s", property)
	default:
		amiss(t, h, "%s is %v, want %v: %+v", property, r.Outcome, want, r.Violations)
	}
	return r
}

// inOrder judges a history. An inconclusive run decides nothing, unless it is
// so because this machine stalled: a busy one may in every run.
func inOrder(t *testing.T, h *history.History) checker.Verdict {
	t.Helper()
	v := checker.Judge(h, checker.Options{})
	for _, r := range v.Reasons {
		if !strings.Contains(r, "stall of this machine") {
			decided.Lacks("a conclusion: %s", r)
		}
	}
	return v
}

// links is a fault of the links of a target, longer than the TTL of the plan.
func links(kind, target, peers, when string) scenarios.Fault {
	return scenarios.Fault{Kind: kind, Target: target, Peers: peers, When: when,
		For: scenarios.Duration(500 * time.Millisecond), After: 1e8,
		Every: scenarios.Range{Min: 1e8, Max: 2e8}}
}

// A holder that is cut from the lock service reaches the store: it writes while
// the cut lasts, and that is what its release runs into.
func TestHolderCutFromTheService(t *testing.T) {
	t.Parallel()
	decided.Run(t, func() {
		h := carried(t, redis.Setnx, faulty("redis-setnx", links("partition", "holder", "service", "between-read-and-write")))
		for _, f := range proven(t, h, "packets dropped", "→ redis-1") {
			if f.Service || f.Store || len(f.Clients) != 1 {
				t.Errorf("whom it touched: %+v", f)
			}
			wrote := false
			for i := range h.Events {
				e := &h.Events[i]
				wrote = wrote || e.Type == history.OK && e.Kind == history.Write && e.Grant == f.Holding && e.Start > f.From && e.End < f.To
			}
			if !wrote && f.Holding != 0 {
				amiss(t, h, "fault %d: grant %d did not write through the cut", f.ID, f.Holding)
			}
		}
		inOrder(t, h)
	})
}

// A holder that is cut from the store cannot write until the cut is healed, and
// the fault is the store's: the lock has to keep its word.
func TestHolderCutFromTheStore(t *testing.T) {
	t.Parallel()
	decided.Run(t, func() {
		h := carried(t, redis.Setnx, faulty("redis-setnx", links("partition", "holder", "store", "before-write")))
		for _, f := range proven(t, h, "packets dropped", "→ store") {
			if f.Service || !f.Store || len(f.Clients) != 0 || f.Holding == 0 {
				t.Errorf("whom it touched: %+v", f)
			}
			for i := range h.Events {
				e := &h.Events[i]
				if e.Type == history.OK && e.Kind == history.Write && e.Grant == f.Holding && e.End < f.To {
					t.Errorf("fault %d: grant %d wrote through the cut", f.ID, f.Holding)
				}
			}
		}
		inOrder(t, h)
	})
}

// Nodes are cut from each other and from clients, and a service that has a majority left goes on.
func TestPartitionsOfNodes(t *testing.T) {
	t.Parallel()
	// go-redis stays away for a second from a server that it could not reach,
	// and TCP from a peer: a cut too soon after the one before may meet nobody.
	rare := func(f scenarios.Fault) scenarios.Fault {
		f.Every = scenarios.Range{Min: scenarios.Duration(1300 * time.Millisecond), Max: scenarios.Duration(1400 * time.Millisecond)}
		return f
	}
	shaped := func(shape string) scenarios.Fault {
		f := links("partition", "service", "", "random")
		f.Shape = shape
		return f
	}
	for _, c := range []struct {
		name  string
		lock  clients.Kind
		fault scenarios.Fault
		words string
	}{
		{"minority", redlock.Redlock, rare(links("partition", "minority", "", "random")), "client-1 → redis-"},
		{"one-node", redlock.Redlock, rare(links("partition", "redis-2", "clients", "acquiring")), "client-1 → redis-2"},
		{"split", etcd.Lease, shaped("majority-minority"), "etcd-"},
		{"isolated", etcd.Lease, rare(shaped("isolate-one")), "→ etcd-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := faulty(c.lock.Name, c.fault)
			p.Scenario.Duration = scenarios.Duration(3 * time.Second)
			if c.lock.Service == "etcd" {
				p.Scenario.TTL, p.Scenario.Duration = scenarios.Duration(time.Second), scenarios.Duration(4*time.Second)
				p.Scenario.Workload.AcquireTimeout, p.Scenario.Workload.OpTimeout = scenarios.Duration(10*time.Second),
					scenarios.Duration(10*time.Second)
			}
			decided.Run(t, func() {
				h := carried(t, c.lock, p)
				for _, f := range proven(t, h, "packets dropped", c.words) {
					if !f.Service || len(f.Clients) != 0 {
						t.Errorf("whom it touched: %+v", f)
					}
				}
				v := inOrder(t, h)
				for _, r := range v.Properties {
					if r.Outcome == checker.Violated {
						amiss(t, h, "%s: %+v", r.Name, r.Violations)
					}
				}
			})
		})
	}
}
