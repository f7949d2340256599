package harness

import (
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// stalledPlan is a run in which an activity of a holder is held up for so long, once it has read.
func stalledPlan(kind string, lock clients.Kind, d time.Duration) scenarios.Plan {
	p := faulty(lock.Name, scenarios.Fault{Kind: kind, Target: "holder", When: "between-read-and-write",
		For: scenarios.Duration(d), After: 5e7,
		Every: scenarios.Range{Min: 1e8, Max: 1e8}})
	p.Scenario.Clients, p.Scenario.Duration = 2, scenarios.Duration(time.Second)
	p.Scenario.Workload.AcquireTimeout, p.Scenario.Workload.OpTimeout = scenarios.Duration(15*time.Second),
		scenarios.Duration(15*time.Second)
	return p
}

// An application that does nothing for longer than a lease has lost it, unless
// something else in its process renews it. The lock is not excused.
func TestStalledApplications(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lock clients.Kind
		want checker.Outcome
	}{{redis.Setnx, checker.Violated}, {redis.Watchdog, checker.Pass}} {
		t.Run(c.lock.Name, func(t *testing.T) {
			t.Parallel()
			p := stalledPlan(nemesis.KindStall, c.lock, 700*time.Millisecond)
			if c.want == checker.Pass {
				// a busy machine may be late with a renewal
				p.Scenario.TTL = scenarios.Duration(600 * time.Millisecond)
				p.Scenario.Faults[0].For = scenarios.Duration(time.Second)
			}
			decided.Run(t, func() {
				h := carried(t, c.lock, p)
				for _, f := range proven(t, h, "the application did nothing for", "beat") {
					if f.Service || len(f.Clients) != 0 || f.Holding == 0 {
						t.Errorf("whom it touched: %+v", f)
					}
					for i := range h.Events {
						if e := &h.Events[i]; e.Grant == f.Holding && e.Start > f.From && e.Start < f.To && e.Type == history.OK {
							t.Errorf("fault %d: the application did %+v meanwhile", f.ID, e)
						}
					}
				}
				inOrder(t, h)
				cameTo(t, h, checker.MutualExclusion, c.want)
			})
		})
	}
}

// A client whose renewals are held up loses its lease while it goes on.
func TestStalledRenewals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lock        clients.Kind
		ttl, think  time.Duration
		told        bool // the lock notices although its renewals are held up
		mutexBroken bool
	}{
		{redis.Watchdog, 300 * time.Millisecond, 800 * time.Millisecond, false, true},
		// It notices up to a TTL and half a second after the strike, which
		// comes in the first half of the hold.
		{etcd.Lease, time.Second, 4 * time.Second, true, false},
	} {
		t.Run(c.lock.Name, func(t *testing.T) {
			t.Parallel()
			p := stalledPlan(nemesis.KindRenewerStall, c.lock, c.think+200*time.Millisecond)
			s := &p.Scenario
			s.TTL, s.Duration = scenarios.Duration(c.ttl), scenarios.Duration(c.think/2)
			s.Faults[0].When, s.Faults[0].After = "random", 0 // the first client
			s.Workload.Think = scenarios.Range{Min: scenarios.Duration(c.think), Max: scenarios.Duration(c.think)}
			decided.Run(t, func() {
				h := carried(t, c.lock, p)
				faults := proven(t, h, "renewals held up for")
				for _, f := range faults {
					if f.Service || len(f.Clients) != 1 || f.Holding == 0 {
						t.Errorf("whom it touched: %+v", f)
					}
				}
				wentOn, lost := false, false
				for i := range h.Events {
					e := &h.Events[i]
					wentOn = wentOn || e.Type == history.OK && e.Kind == history.Write &&
						e.Grant == faults[0].Holding && e.Start < faults[0].To
					lost = lost || e.Type == history.Lost && e.Grant == faults[0].Holding
				}
				if !wentOn {
					decided.Lacks("an application that went on")
				}
				if lost != c.told && c.told {
					decided.Lacks("a loss that was told")
				}
				inOrder(t, h)
				if c.mutexBroken {
					cameTo(t, h, checker.MutualExclusion, checker.Violated)
				}
			})
		})
	}
}

// Renewals that do not pass our gate can't be held up there, nor an application
// in the middle of an acquire.
func TestImpossibleStallsAreRefused(t *testing.T) {
	t.Parallel()
	p := stalledPlan(nemesis.KindRenewerStall, redis.Setnx, time.Second)
	if _, err := runs(t, t.Context(), redis.Setnx, p, nil); err == nil ||
		!strings.Contains(err.Error(), "needs a lock that renews by itself") {
		t.Error(err)
	}
	for _, kind := range []string{nemesis.KindStall, nemesis.KindRenewerStall} {
		f := stalledPlan(kind, redis.Watchdog, time.Second).Scenario.Faults[0]
		if err := possible.CheckFault(redis.Watchdog, f); err != nil {
			t.Error(err)
		}
		f.When = "acquiring"
		if err := possible.CheckFault(redis.Watchdog, f); err == nil || !strings.Contains(err.Error(), "strikes who holds") {
			t.Errorf("%s: %v", kind, err)
		}
		f.When, f.Target = "random", "random-client"
		if err := possible.CheckFault(redis.Watchdog, f); err == nil || !strings.Contains(err.Error(), "may be in the middle of an acquire") {
			t.Errorf("%s: %v", kind, err)
		}
		f.Target = "redis-1"
		if err := possible.CheckFault(redis.Watchdog, f); err == nil || !strings.Contains(err.Error(), "clients only") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
