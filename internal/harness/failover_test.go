package harness

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// The primary dies with a grant that its replica has not heard of: the servers
// tell of their roles, and both are there at the end.
func TestFailoverInTheGap(t *testing.T) {
	t.Parallel()
	needed.Program(t, "redis-server")
	p := faulty("redis-failover", scenarios.Fault{Kind: nemesis.KindFailover, Target: "service", When: "random",
		For: 1e7, Every: scenarios.Range{Min: 1e10, Max: 1e10}})
	s := &p.Scenario
	s.TTL, s.Duration = scenarios.Duration(2*time.Second), scenarios.Duration(time.Second)
	s.Workload.AcquireTimeout, s.Workload.OpTimeout = scenarios.Duration(15*time.Second), scenarios.Duration(15*time.Second)
	decided.Run(t, func() {
		h := carried(t, redis.Failover, p)
		for _, f := range proven(t, h, "before: redis-1 primary, redis-2 replica in sync", "redis-1: process",
			"signal: killed", "redis-2 was promoted",
			"after: redis-1 replica in sync, redis-2 primary") {
			if !f.Service || len(f.Clients) != 0 || f.Holding == 0 {
				t.Errorf("whom it touched: %+v", f)
			}
		}
		if h.Truncated {
			t.Error("the run was cut")
		}
		cameTo(t, h, checker.StuckLock, checker.Pass)
	})
	f := p.Scenario.Faults[0]
	if err := possible.CheckFault(redis.Setnx, f); err == nil || !strings.Contains(err.Error(), "needs a service with a replica") {
		t.Errorf("one redis has no replica: %v", err)
	}
	if possible.GuestsBear(p, false) == nil {
		t.Error("a primary in a container would not come back")
	}
}

// With nobody who is granted a lock in the gap nobody is killed, the cut is
// undone, and the history tells of no fault.
func TestFailoverWithoutAGrant(t *testing.T) {
	t.Parallel()
	needed.Program(t, "redis-server")
	p := faulty("redis-failover", scenarios.Fault{Kind: nemesis.KindFailover, Target: "service", When: "random",
		For: 1e7, After: 1e8, Every: scenarios.Range{Min: 1e7, Max: 1e7}})
	s := &p.Scenario
	s.Clients, s.TTL, s.Duration = 1, scenarios.Duration(2*time.Second), scenarios.Duration(300*time.Millisecond)
	// past the end of the workload
	s.Workload.Think = scenarios.Range{Min: scenarios.Duration(time.Second), Max: scenarios.Duration(time.Second)}
	decided.Run(t, func() {
		h := carried(t, redis.Failover, p)
		first := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Type == history.OK && e.Kind == history.Acquire })
		if first < 0 || h.Events[first].Time > int64(p.Scenario.Faults[0].After) {
			decided.Lacks("a grant before the first gap")
		}
		if got := ends(h); len(got) > 0 || h.Truncated {
			t.Errorf("truncated: %t; faults %+v", h.Truncated, got)
		}
	})
}
