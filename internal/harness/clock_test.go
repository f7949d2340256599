package harness

import (
	"slices"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/scenarios"
)

// clockFault is a fault of clocks that lasts a moment: what it did to a lease is done at once.
func clockFault(kind, target, clock string, by time.Duration) scenarios.Fault {
	return scenarios.Fault{Kind: kind, Target: target, When: "random", Clock: clock, By: scenarios.Offset(by),
		For: scenarios.Duration(100 * time.Millisecond), After: 3e8,
		Every: scenarios.Range{Min: 3e8, Max: 4e8}}
}

// underClocks runs a lock whose holders work for long under a fault of clocks.
func underClocks(t *testing.T, kind clients.Kind, f scenarios.Fault, ttl time.Duration) *history.History {
	t.Helper()
	return carried(t, kind, clockPlan(kind, f, ttl))
}

func clockPlan(kind clients.Kind, f scenarios.Fault, ttl time.Duration) scenarios.Plan {
	p := faulty(kind.Name, f)
	s := &p.Scenario
	s.TTL, s.Duration = scenarios.Duration(ttl), scenarios.Duration(3*time.Second)
	s.Workload.Think = scenarios.Range{Min: scenarios.Duration(150 * time.Millisecond), Max: scenarios.Duration(300 * time.Millisecond)}
	s.Workload.AcquireTimeout, s.Workload.OpTimeout = scenarios.Duration(15*time.Second), scenarios.Duration(15*time.Second)
	return p
}

// Redis ends leases by its wall clock: a jump ends one before its time, and the
// judge says that it was the lock's fault under this one.
func TestWallClockOfARedisEndsLeases(t *testing.T) {
	t.Parallel()
	decided.Run(t, func() {
		h := underClocks(t, redis.Setnx, clockFault("clock-jump", "redis-1", "wall", time.Hour), 600*time.Millisecond)
		for _, f := range proven(t, h, "redis-1, process ", "wall +1h0m0s") {
			if !f.Service || len(f.Clients) != 0 {
				t.Errorf("whom it touched: %+v", f)
			}
			for i, c := range f.Clocks {
				wrong := c.Step != "before" && c.Step != "healed"
				if c.Host != "redis-1" || c.At <= 0 || i > 0 && f.Clocks[i-1].At > c.At && c.Step != "" ||
					(c.Wall > int64(time.Minute)) != wrong {
					t.Errorf("reading %d of fault %d: %+v", i, f.ID, c)
				}
			}
			if len(f.Clocks) < 4 {
				t.Errorf("%d readings of fault %d", len(f.Clocks), f.ID)
			}
		}
		inOrder(t, h)
		if r := cameTo(t, h, checker.MutualExclusion, checker.Violated); !slices.Contains(r.KindsFound(), checker.KindGrantedWhileValid) {
			decided.Lacks("a violation by the lock: %v", r.KindsFound())
		}
	})
}

// etcd's leases go by monotonic clocks: no jump of the wall clock ends one.
func TestWallClocksDoNotHurtEtcd(t *testing.T) {
	t.Parallel()
	decided.Run(t, func() {
		// a busy machine may be late with a heartbeat
		h := underClocks(t, etcd.Lease, clockFault("clock-jump", "nodes:3", "wall", -time.Hour), 4*time.Second)
		proven(t, h, "etcd-1, process ", "etcd-3, process ", "wall -1h0m0s")
		for _, r := range inOrder(t, h).Properties {
			if r.Outcome == checker.Violated {
				amiss(t, h, "%s: %+v", r.Name, r.Violations)
			}
		}
		for i := range h.Events {
			if h.Events[i].Type == history.Lost {
				amiss(t, h, "a lease was lost: %s", h.Events[i].Text)
			}
		}
	})
}

// A jump of the monotonic clocks ends every lease.
func TestMonotonicClocksEndLeasesOfEtcd(t *testing.T) {
	t.Parallel()
	p := clockPlan(etcd.Lease, clockFault("clock-jump", "nodes:3", "mono", time.Minute), time.Second)
	// The server looks for expired leases every half second, and the client hears of it with its
	// next heartbeat, a third of the TTL later: only who still works by then can lose a lease.
	p.Scenario.Workload.Think = scenarios.Range{Min: scenarios.Duration(1500 * time.Millisecond),
		Max: scenarios.Duration(1500 * time.Millisecond)}
	decided.Run(t, func() {
		h := carried(t, etcd.Lease, p)
		proven(t, h, "etcd-1, process ", "monotonic +")
		lost := 0
		for i := range h.Events {
			if h.Events[i].Type == history.Lost {
				lost++
			}
		}
		if lost == 0 {
			decided.Lacks("a lease that was lost")
		}
	})
}

// The clocks of a client that holds: it is the one that is touched, and a late
// heartbeat of it no stall of the machine.
func TestClocksOfAHolder(t *testing.T) {
	t.Parallel()
	slow := clockFault("clock-rate", "holder", "mono", 0)
	slow.Rate = 0.2
	strobe := clockFault("clock-strobe", "holder", "wall", time.Hour)
	strobe.Period = scenarios.Duration(5 * time.Millisecond)
	for _, c := range []struct {
		fault scenarios.Fault
		words string
	}{
		{clockFault("clock-jump", "holder", "wall", -time.Hour), "wall -1h0m0s"},
		{slow, "at rate 0.2"},
		{strobe, "jumps to and fro"},
	} {
		t.Run(c.fault.Kind, func(t *testing.T) {
			t.Parallel()
			decided.Run(t, func() {
				h := underClocks(t, redis.Setnx, c.fault, 600*time.Millisecond)
				for _, f := range proven(t, h, "client-", c.words) {
					if f.Service || len(f.Clients) != 1 {
						t.Errorf("whom it touched: %+v", f)
					}
				}
				inOrder(t, h)
			})
		})
	}
}
