package harness

import (
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/clients/noop"
	"github.com/lockchaos/lockchaos/clients/postgres"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/clients/zookeeper"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// aimedAt is a fault that is aimed at one request of a holder, or of a client that acquires.
func aimedAt(request nemesis.Request, when nemesis.Moment, f scenarios.Fault) scenarios.Fault {
	f.Target, f.When, f.Request = string(nemesis.Holder), string(when), string(request)
	f.After, f.Every = 5e7, scenarios.Range{Min: 1e8, Max: 2e8}
	return f
}

// blamed are the violations that a lock itself has to answer for. A client that outlives
// its lease is none of them, nor is what it then writes: on a busy machine that happens.
func blamed(v checker.Verdict) (all []checker.Violation) {
	for _, r := range v.Properties {
		if r.Name == checker.UnfencedWrite || r.Name == checker.LostUpdate {
			continue
		}
		for _, found := range r.Violations {
			if found.Kind != checker.KindLeaseOverrun {
				all = append(all, found)
			}
		}
	}
	return all
}

// Traps meet the request that they are aimed at, of real locks, and none of
// these locks lets two clients in for that.
func TestRequestsAreMet(t *testing.T) {
	t.Parallel()
	const ms = scenarios.Duration(time.Millisecond)
	held, heldReply := scenarios.Fault{Kind: nemesis.KindHold, For: 400 * ms},
		scenarios.Fault{Kind: nemesis.KindHold, For: 400 * ms, Way: "in"}
	cut := scenarios.Fault{Kind: nemesis.KindCut, Point: "after-request"}
	silent := scenarios.Fault{Kind: nemesis.KindCut, Point: "after-request", Silent: true, For: 300 * ms}
	for _, c := range []struct {
		name  string
		lock  clients.Kind
		fault scenarios.Fault
		words []string
	}{
		{"acquire", redis.Setnx, aimedAt(nemesis.RequestAcquire, nemesis.Acquiring, heldReply),
			[]string{"the reply to acquire, redis-1 → client-", "then delivered"}},
		{"acquire", redis.Setnx, aimedAt(nemesis.RequestAcquire, nemesis.Acquiring, cut), []string{"reset after-request of acquire"}},
		{"renew", redis.Watchdog, aimedAt(nemesis.RequestRenew, nemesis.AfterGrant, held),
			[]string{"renew, client-", " → redis-1, ", "then delivered"}},
		{"acquire", etcd.Lease, aimedAt(nemesis.RequestAcquire, nemesis.Acquiring, silent), []string{"silenced after-request of acquire"}},
		{"release", zookeeper.Recipe, aimedAt(nemesis.RequestRelease, nemesis.BetweenReadAndWrite, held),
			[]string{"release, client-", " → zookeeper-", "then delivered"}},
		{"acquire", postgres.Advisory, aimedAt(nemesis.RequestAcquire, nemesis.Acquiring, held),
			[]string{"acquire, client-", " → postgres-1, ", "then delivered"}},
	} {
		t.Run(strings.Join([]string{c.lock.Name, c.fault.Kind, c.name}, "/"), func(t *testing.T) {
			installed(t, c.lock.Service)
			t.Parallel()
			p := faulty(c.lock.Name, c.fault)
			p.Scenario.Clients, p.Scenario.Duration = 2, 1500*ms
			// in the background, every third of the TTL
			if c.fault.Request == string(nemesis.RequestRenew) {
				p.Scenario.Workload.Think = scenarios.Range{Min: 120 * ms, Max: 150 * ms}
			}
			if c.lock.Service != "redis" {
				p.Scenario.TTL, p.Scenario.Workload.AcquireTimeout, p.Scenario.Workload.OpTimeout = 2000*ms, 10000*ms, 10000*ms
			}
			decided.Run(t, func() {
				h := carried(t, c.lock, p)
				for _, f := range proven(t, h, c.words...) {
					if f.Service || f.Store || !f.Links || len(f.Clients) != 1 {
						t.Errorf("whom it touched: %+v", f)
					}
				}
				for _, b := range blamed(inOrder(t, h)) {
					t.Errorf("%+v", b)
				}
			})
		})
	}
}

// The write that is late by more than the lease: it leaves the holder in time, and arrives
// when a newer holder has written. The lock has kept its word, and only a fence helps.
func TestLateWrite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lock  clients.Kind
		store string
	}{{redis.Setnx, "unfenced"}, {redis.SetnxFenced, "fenced"}} {
		t.Run(c.store, func(t *testing.T) {
			t.Parallel()
			p := faulty(c.lock.Name, aimedAt(nemesis.RequestWrite, nemesis.BeforeWrite,
				scenarios.Fault{Kind: nemesis.KindHold, For: scenarios.Duration(time.Second)}))
			p.Scenario.Store.Kind = c.store
			decided.Run(t, func() {
				h := carried(t, c.lock, p)
				for _, f := range proven(t, h, "write, client-", " → store, ", "then delivered") {
					if f.Service || !f.Store || !f.Links || len(f.Clients) != 0 || f.Holding == 0 {
						t.Errorf("whom it touched: %+v", f)
					}
				}
				v := inOrder(t, h)
				for _, b := range blamed(v) {
					t.Errorf("%+v", b)
				}
				late, fenced := overtaken(h), c.store == "fenced"
				if late == 0 {
					decided.Lacks("a newer holder that wrote before the late write came")
				}
				if refused := v.Stats.Refused; refused > 0 != fenced || fenced && refused < late {
					t.Errorf("%d writes came late, and %d were refused", late, refused)
				}
				switch r := v.Property(checker.UnfencedWrite); {
				case !fenced && r.Outcome == checker.Inconclusive:
					decided.Lacks("a decision on unfenced-write: %s", r.Why)
				case r.Outcome == checker.Violated == fenced:
					t.Errorf("%d writes came late, and unfenced-write is %v", late, r.Outcome)
				}
			})
		})
	}
}

// overtaken counts the writes that came to the store after one of a newer holder, refused or not.
func overtaken(h *history.History) (late int64) {
	turn := map[int64]int{}
	for i, grant := range grants(h) {
		turn[grant] = i + 1
	}
	newest := 0
	for i := range h.Events {
		e := &h.Events[i]
		if e.Type != history.Ledger || e.Kind != history.Write {
			continue
		}
		if turn[e.Grant] < newest {
			late++
		} else if !e.Refused {
			newest = turn[e.Grant]
		}
	}
	return late
}

// The round of an application without a lock is over before TCP acknowledges the
// reply to its write: the cut that comes after the reply strikes all the same.
func TestRoundsThatEndBeforeTheAcknowledgement(t *testing.T) {
	t.Parallel()
	const ms = scenarios.Duration(time.Millisecond)
	cut := aimedAt(nemesis.RequestWrite, nemesis.BeforeWrite, scenarios.Fault{Kind: nemesis.KindCut, Point: "after-reply"})
	cut.After, cut.Every = 50*ms, scenarios.Range{Min: 50 * ms, Max: 60 * ms}
	p := faulty("cas", cut)
	p.Scenario.Duration = 3000 * ms
	decided.Run(t, func() {
		h := carried(t, noop.Cas, p)
		if struck := len(proven(t, h, "reset after-reply of write")); struck < 5 {
			decided.Lacks("five strikes in 3 s, which have time for 25 at least: a round of 60 ms, 50 ms for the acknowledgement")
		}
	})
}

// A trap that nothing falls into is no fault: nothing is recorded, and the run
// ends as if there were none.
func TestTrapsThatWaitInVain(t *testing.T) {
	t.Parallel()
	for _, when := range []nemesis.Moment{nemesis.AfterGrant, nemesis.Random} {
		t.Run(string(when), func(t *testing.T) {
			t.Parallel()
			// which nobody sends
			p := faulty("redis-setnx", aimedAt(nemesis.RequestRenew, when, scenarios.Fault{Kind: nemesis.KindHold, For: 1e8}))
			p.Scenario.Duration = scenarios.Duration(500 * time.Millisecond)
			h := carried(t, redis.Setnx, p)
			for i := range h.Events {
				if f := h.Events[i].Fault; f != nil && f.Injected {
					t.Errorf("recorded: %+v", f)
				}
			}
		})
	}
}
