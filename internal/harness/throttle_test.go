package harness

import (
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Who is throttled goes on, more slowly, and nothing is stopped at the end.
func TestThrottles(t *testing.T) {
	for _, c := range []struct {
		lock         clients.Kind
		target, when string
		who          string
	}{
		{redis.Setnx, "holder", "after-grant", "client-"},
		{etcd.Lease, "nodes:3", "random", "etcd-3: stopped"},
	} {
		t.Run(c.lock.Name+"/"+c.target, func(t *testing.T) {
			p := faulty(c.lock.Name, scenarios.Fault{Kind: nemesis.KindThrottle, Target: c.target, When: c.when,
				Share: 0.2, Period: 5e7, For: 3e8,
				After: 5e7, Every: scenarios.Range{Min: 1e8, Max: 1e8}})
			p.Scenario.TTL, p.Scenario.Duration = scenarios.Duration(3*time.Second), scenarios.Duration(time.Second)
			decided.Run(t, func() {
				h := carried(t, c.lock, p)
				for _, f := range proven(t, h, c.who, "times, for", "ms of the processors") {
					if f.Service == (c.target == "holder") || f.Service == (len(f.Clients) > 0) {
						t.Errorf("whom it touched: %+v", f)
					}
				}
				for _, r := range inOrder(t, h).Properties {
					if r.Outcome == checker.Violated && !unfair(h, r.Name) {
						amiss(t, h, "%s: %+v", r.Name, r.Violations)
					}
				}
				if left := processes(t, "T", ""); len(left) > 0 {
					t.Errorf("still stopped: %v", left)
				}
			})
		})
	}
}
