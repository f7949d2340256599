package harness

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/clients/redlock"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// crashing is a run in which nodes die once, early, while somebody holds for long.
func crashing(lock, target, data string) scenarios.Plan {
	p := faulty(lock, scenarios.Fault{Kind: nemesis.KindCrash, Target: target, When: "random", Data: data, For: 2e7,
		After: 3e8, Every: scenarios.Range{Min: 1e10, Max: 1e10}})
	s := &p.Scenario
	s.Clients = 2
	s.TTL, s.Duration = scenarios.Duration(4*time.Second), scenarios.Duration(time.Second)
	// the node is back before, on a busy machine too
	s.Workload.Think = scenarios.Range{Min: scenarios.Duration(2 * time.Second), Max: scenarios.Duration(2200 * time.Millisecond)}
	s.Workload.AcquireTimeout, s.Workload.OpTimeout = scenarios.Duration(15*time.Second), scenarios.Duration(15*time.Second)
	return p
}

// A Redis that forgets grants what it has granted: one that keeps its data does
// not. The run goes on in either case.
func TestCrashesOfARedis(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]checker.Outcome{"lost": checker.Violated, "kept": checker.Pass} {
		t.Run(data, func(t *testing.T) {
			if data == "kept" {
				needed.Program(t, "redis-server")
			}
			decided.Run(t, func() {
				h := carried(t, redis.Setnx, crashing("redis-setnx", "redis-1", data))
				with := map[string]string{"lost": "without its data", "kept": "with its data"}[data]
				for _, f := range proven(t, h, "redis-1: process ", "signal: killed", with, "answered after") {
					if !f.Service || len(f.Clients) != 0 {
						t.Errorf("whom it touched: %+v", f)
					}
				}
				if h.Truncated {
					t.Error("a node's death has ended the run")
				}
				cameTo(t, h, checker.MutualExclusion, want)
				cameTo(t, h, checker.StuckLock, checker.Pass)
			})
		})
	}
}

// etcd goes on without a minority, which joins it again.
func TestCrashOfAMinority(t *testing.T) {
	t.Parallel()
	p := crashing("etcd-lease", "minority", "")
	p.Scenario.Workload.Think = scenarios.Range{Min: 1e8, Max: 2e8}
	decided.Run(t, func() {
		h := carried(t, etcd.Lease, p)
		proven(t, h, "etcd-", "signal: killed", "with its data")
		for _, r := range inOrder(t, h).Properties {
			if r.Outcome == checker.Violated && !unfair(h, r.Name) {
				amiss(t, h, "%s: %+v", r.Name, r.Violations)
			}
		}
	})
}

// What no node can do, or none that somebody else started, is refused before the run.
func TestImpossibleCrashesAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := runs(t, t.Context(), etcd.Lease, crashing("etcd-lease", "etcd-1", "lost"), nil); err == nil ||
		!strings.Contains(err.Error(), "only a Redis loses all") {
		t.Error(err)
	}
	p := crashing("redlock", "majority", "lost")
	if err := possible.GuestsBear(p, false); !errors.Is(err, possible.ErrGuests) {
		t.Error(err)
	}
	r := run{cfg: Config{Plan: p, Lock: redlock.Redlock, Attached: []agent.Attached{{Name: "redis-1"}}}}
	if err := r.possible(); !errors.Is(err, possible.ErrGuests) {
		t.Error(err)
	}
	p.Scenario.Faults = nil
	if err := possible.GuestsBear(p, false); err != nil {
		t.Error(err)
	}
}
