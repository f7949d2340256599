package harness

import (
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/clients/zookeeper"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// refusing is a fault that has one node refuse writes for a while.
func refusing(target string) scenarios.Fault {
	return scenarios.Fault{Kind: nemesis.KindRefuseWrites, Target: target, When: "random",
		For: scenarios.Duration(200 * time.Millisecond), After: 1e8, Every: scenarios.Range{Min: 1e8, Max: 2e8}}
}

// While a Redis refuses writes it grants nothing. An honest lock takes an error
// for no answer, and goes on afterwards.
func TestRefusedWritesGrantNothing(t *testing.T) {
	t.Parallel()
	needed.Program(t, "redis-server")
	decided.Run(t, func() {
		h := carried(t, redis.Setnx, faulty("redis-setnx", refusing("redis-1")))
		faults := proven(t, h, "redis-1 refused the first write and the last", "NOREPLICAS")
		for i := range h.Events {
			e := &h.Events[i]
			if e.Kind != history.Acquire || e.Type != history.OK {
				continue
			}
			for _, f := range faults {
				if e.Attempt > f.From && e.End < f.To {
					t.Errorf("op %d was granted the key from %d to %d, and all writes were refused from %d to %d", e.Op,
						e.Attempt, e.End, f.From, f.To)
				}
			}
		}
		cameTo(t, h, checker.MutualExclusion, checker.Pass)
		cameTo(t, h, checker.StuckLock, checker.Pass)
	})
}

// What refuses no writes, or keeps the store's ledger, is known before anything runs.
func TestRefusedWritesNeedNodesThatCan(t *testing.T) {
	if err := possible.CheckFault(etcd.Lease, refusing("etcd-1")); err != nil {
		t.Error(err)
	}
	const want = "nodes that can be made to refuse writes"
	if err := possible.CheckFault(zookeeper.Recipe, refusing("zookeeper-1")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("zookeeper: %v", err)
	}
	if err := possible.CheckFault(etcd.Txn, refusing("etcd-1")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a guarded store: %v", err)
	}
}
