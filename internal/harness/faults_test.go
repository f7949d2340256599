package harness

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/clients/redlock"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// faulty is a run under one kind of fault.
func faulty(lock string, f scenarios.Fault) scenarios.Plan {
	p := plan(lock, 2*time.Second)
	p.Scenario.Faults = []scenarios.Fault{f}
	return p
}

// planned reports whether the fault is one of the plan's, and no stall: an
// application that had to wait for an injection stalls by the harness's doing.
func planned(f *history.FaultInfo) bool { return f.Injected && f.Plan > 0 }

// ends are the ends of the planned faults.
func ends(h *history.History) (all []*history.FaultInfo) {
	for i := range h.Events {
		if f := h.Events[i].Fault; f != nil && f.Phase == "end" && planned(f) {
			all = append(all, f)
		}
	}
	return all
}

// stalls counts those of the machine: what nobody injected.
func stalls(h *history.History) (n int) {
	for i := range h.Events {
		if f := h.Events[i].Fault; f != nil && f.Phase == "begin" && !f.Injected {
			n++
		}
	}
	return n
}

// A killed client is proven to be dead, nothing comes from it afterwards, and a
// fresh process goes on under its number.
func TestKilledClientsAreReplaced(t *testing.T) {
	t.Parallel()
	for _, when := range nemesis.Moments() {
		if when == nemesis.WhileRenewing || when == nemesis.BeforeRelease || when == nemesis.BeforeCommit {
			continue // nothing is renewed or committed here; before the release is as before the write
		}
		t.Run(string(when), func(t *testing.T) {
			t.Parallel()
			p := faulty("redis-setnx", scenarios.Fault{Kind: nemesis.KindKill, Target: "holder", When: string(when),
				After: 5e7, Every: scenarios.Range{Min: 1e9, Max: 1e9}})
			// and a client whose machine is merely slow must not outlive it
			p.Scenario.TTL = scenarios.Duration(time.Second)
			// each kill blocks the key for a TTL, and then somebody must go on
			p.Scenario.Duration = scenarios.Duration(4 * time.Second)
			decided.Run(t, func() {
				dir := t.TempDir()
				h, err := runsIn(t, t.Context(), dir, redis.Setnx, p, nil)
				if err != nil {
					t.Fatal(err)
				}
				kills := ends(h)
				if len(kills) == 0 {
					decided.Lacks("a kill")
				}
				for _, f := range kills {
					if !f.Bit || !strings.Contains(f.Evidence, "signal: killed") || f.From <= 0 || f.To <= f.From || len(f.Clients) != 1 {
						t.Errorf("a kill without its proof: %+v", f)
					}
					if (f.Holding == 0) != (when == nemesis.Acquiring) && when != nemesis.Random {
						t.Errorf("at %s: %+v", when, f)
					}
				}
				afterlife(t, h, len(kills))
				v := checker.Judge(h, checker.Options{})
				for _, r := range v.Properties {
					if r.Outcome == checker.Inconclusive && stalls(h) > 0 {
						t.Logf("the machine itself stalled: %s: %s", r.Name, r.Why)
					} else if r.Outcome != checker.Pass && r.Outcome != checker.NotJudged && !unfair(h, r.Name) {
						amiss(t, h, "%s: %v %s %+v", r.Name, r.Outcome, r.Why, r.Violations)
					}
				}
				if logs, err := filepath.Glob(filepath.Join(dir, "client-*.log")); err != nil || len(logs) != 3+record.ProbeClients {
					t.Errorf("logs %v, %v", logs, err)
				}
			})
		})
	}
}

// afterlife checks the exits: one for each kill besides those at the end, with
// a stamp, none of its ops after it, and a successor.
func afterlife(t *testing.T, h *history.History, kills int) {
	t.Helper()
	gone := map[int32]bool{}           // incarnations
	last := map[int32]*history.Event{} // client → its latest exit
	exits, wentOn := 0, 0
	for i := range h.Events {
		e := &h.Events[i]
		switch e.Type {
		case history.Exit:
			exits++
			gone[e.Process], last[e.Client] = true, e
			if e.Start == 0 || e.Start > e.Time {
				t.Errorf("an exit without its time: %+v", e)
			}
		case history.Invoke, history.OK, history.Fail, history.Info, history.Lost:
			if gone[e.Process] {
				t.Errorf("an event of a process that is gone: %+v", e)
			}
			if x := last[e.Client]; x != nil {
				if e.Process <= x.Process {
					t.Errorf("process %d of client %d after %d", e.Process, e.Client, x.Process)
				}
				if e.Type == history.OK && e.Kind == history.Acquire {
					wentOn++
				}
			}
		}
	}
	if want := kills + h.Header.Clients + record.ProbeClients; exits != want {
		t.Errorf("%d exits, want %d", exits, want)
	}
	if wentOn == 0 {
		decided.Lacks("a fresh process that was granted the lock")
	}
}

// A client that is killed while it acquires may have got the lock: its acquire
// is left open to doubt, or it was never sent.
func TestKilledAcquiresAreIndefinite(t *testing.T) {
	t.Parallel()
	p := faulty("redis-setnx", scenarios.Fault{Kind: nemesis.KindKill, Target: "holder", When: "acquiring",
		Every: scenarios.Range{Min: 1e7, Max: 2e7}})
	decided.Run(t, func() {
		h := carried(t, redis.Setnx, p)
		indefinite := 0
		for i := range h.Events {
			if e := &h.Events[i]; e.Type == history.Info && e.Kind == history.Acquire {
				indefinite++
			}
		}
		if indefinite == 0 {
			decided.Lacks("an acquire of unknown fate: %d kills", len(ends(h)))
		}
	})
}

// A killed client may stay away for a while.
func TestKilledClientsStayAway(t *testing.T) {
	t.Parallel()
	const away = 400 * time.Millisecond
	p := faulty("redis-setnx", scenarios.Fault{Kind: nemesis.KindKill, Target: "holder", When: "after-grant",
		For: scenarios.Duration(away), Every: scenarios.Range{Min: 1e8, Max: 1e8}})
	decided.Run(t, func() {
		h := carried(t, redis.Setnx, p)
		quiet, seen := int64(0), 0
		for i := range h.Events {
			if e := &h.Events[i]; e.Type == history.Mark && e.Text == history.PhaseQuiet {
				quiet = e.Time
			}
		}
		gone := map[int32]int64{}
		for i := range h.Events {
			e := &h.Events[i]
			if e.Type == history.Exit {
				gone[e.Client] = e.Start
			}
			if at, dead := gone[e.Client]; dead && e.Type == history.Invoke && e.Kind == history.Acquire {
				if e.Time-at < int64(away) && at+int64(away) < quiet {
					t.Errorf("client %d was back after %v", e.Client, time.Duration(e.Time-at))
				}
				seen++
				delete(gone, e.Client)
			}
		}
		if seen == 0 {
			decided.Lacks("a client that came back")
		}
	})
}

// Nodes stand still for the planned time, as many as planned, and the history says so of the
// service. Not beside other tests: a stall of the machine must not explain what came of it.
func TestNodesArePaused(t *testing.T) {
	for _, c := range []struct {
		lock   clients.Kind
		target string
		when   string
		nodes  int
	}{
		{redlock.Redlock, "minority", "acquiring", 2},
		{redlock.Redlock, "majority", "random", 3},
		{redlock.Redlock, "redis-2", "random", 1},
		{redis.Setnx, "redis-1", "acquiring", 1},
	} {
		t.Run(c.lock.Name+"/"+c.target+"/"+c.when, func(t *testing.T) {
			const length = 150 * time.Millisecond
			decided.Run(t, func() {
				h := carried(t, c.lock, faulty(c.lock.Name,
					scenarios.Fault{Kind: nemesis.KindPause, Target: c.target, When: c.when, For: scenarios.Duration(length),
						After: 5e7, Every: scenarios.Range{Min: 5e7, Max: 5e7}}))
				if len(ends(h)) == 0 {
					decided.Lacks("a node that was paused")
				}
				for _, f := range ends(h) {
					if !f.Bit {
						amiss(t, h, "it did not bite: %+v", f)
					} else if !f.Service || len(f.Clients) > 0 || f.Target != c.target || f.To-f.From < int64(length) ||
						strings.Count(f.Evidence, "state T on ") != c.nodes || strings.Count(f.Evidence, "redis-") != c.nodes {
						t.Errorf("%+v", f)
					}
				}
				inOrder(t, h)
				cameTo(t, h, checker.StuckLock, checker.Pass)
			})
		})
	}
}

// Two faults of nodes and one of clients side by side: one at a time for the nodes, and all
// heal. Not beside other tests, whose processes may be stopped when it looks for any that are.
func TestFaultsSideBySide(t *testing.T) {
	node := scenarios.Fault{Kind: nemesis.KindPause, Target: "minority", When: "random", For: 5e7,
		Every: scenarios.Range{Min: 1e6, Max: 5e6}}
	p := faulty("redlock", node)
	p.Scenario.Faults = append(p.Scenario.Faults, node,
		scenarios.Fault{Kind: nemesis.KindKill, Target: "holder", When: "random", Every: scenarios.Range{Min: 1e8, Max: 2e8}},
		scenarios.Fault{Kind: nemesis.KindPause, Target: "holder", When: "acquiring", For: 3e7, Every: scenarios.Range{Min: 1e7, Max: 1e8}})
	// nodes are paused nearly all the time, and on a busy machine few acquires get through
	p.Scenario.Duration *= 3
	decided.Run(t, func() {
		h := carried(t, redlock.Redlock, p)
		var last int64
		kinds := map[string]int{}
		for _, f := range ends(h) {
			kinds[f.Kind+" "+f.Target]++
			if f.Service && f.From < last {
				t.Errorf("fault %d began before the one before it had ended: %+v", f.ID, f)
			}
			if f.Service {
				last = f.To
			}
		}
		if left := processes(t, "T", ""); len(left) > 0 {
			t.Errorf("still stopped: %v", left)
		}
		if len(kinds) != 3 {
			decided.Lacks("faults of three kinds: it has %v", kinds)
		}
	})
}

// What a fault can't be aimed at is refused before the run.
func TestImpossibleFaultsAreRefused(t *testing.T) {
	t.Parallel()
	p := faulty("redis-setnx", scenarios.Fault{Kind: nemesis.KindPause, Target: "redis-2", When: "random", For: 1e8,
		Every: scenarios.Range{Min: 1e8, Max: 1e8}})
	if _, err := runs(t, t.Context(), redis.Setnx, p, nil); err == nil || !strings.Contains(err.Error(), `unknown target "redis-2"`) {
		t.Errorf("got %v", err)
	}
}
