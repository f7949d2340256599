package harness

import (
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// The holder's session ends while it works: the history says whose, with the
// service's answer, the client learns of it, and everybody goes on.
func TestSessionsAreExpired(t *testing.T) {
	t.Parallel()
	p := faulty("etcd-lease", scenarios.Fault{Kind: nemesis.KindExpireSession, Target: "holder", When: "between-read-and-write", After: 5e7,
		Every: scenarios.Range{Min: 2e8, Max: 2e8}})
	p.Scenario.TTL = scenarios.Duration(time.Second)
	// the library looks at its lease every third of the TTL
	p.Scenario.Workload.Think = scenarios.Range{Min: 5e8, Max: 6e8}
	decided.Run(t, func() {
		h := carried(t, etcd.Lease, p)
		granted := map[int64]int32{}
		told := map[int64]bool{}
		for i := range h.Events {
			switch e := &h.Events[i]; {
			case e.Type == history.OK && e.Kind == history.Acquire:
				granted[e.Op] = e.Client
			case e.Type == history.Lost:
				told[e.Grant] = true
			}
		}
		struck, lost := ends(h), false
		for _, f := range struck {
			if !f.Bit || len(f.Clients) != 1 || f.Service || granted[f.Holding] != f.Clients[0] || f.From <= 0 || f.To <= f.From ||
				!strings.Contains(f.Evidence, "etcd revoked lease ") {
				t.Errorf("%+v", f)
			}
			lost = lost || told[f.Holding]
		}
		if len(struck) == 0 || !lost {
			decided.Lacks("a client that was told that its session had ended: %d sessions ended", len(struck))
		}
		cameTo(t, h, checker.StuckLock, checker.Pass)
	})
}

// A lock without sessions can't lose one: that is said before the run.
func TestExpireNeedsSessions(t *testing.T) {
	t.Parallel()
	p := faulty("redis-setnx", scenarios.Fault{Kind: nemesis.KindExpireSession, Target: "holder", When: "after-grant",
		Every: scenarios.Range{Min: 1e8, Max: 1e8}})
	if _, err := runs(t, t.Context(), redis.Setnx, p, nil); err == nil ||
		!strings.Contains(err.Error(), "needs a lock service that has sessions") {
		t.Errorf("got %v", err)
	}
}
