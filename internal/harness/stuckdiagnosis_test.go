package harness

import (
	"slices"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	controls "github.com/lockchaos/lockchaos/clients/broken"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// deserted is a run whose holder dies once, early, and is not replaced; those who wait have time.
func deserted(lock string) scenarios.Plan {
	p := faulty(lock, scenarios.Fault{Kind: nemesis.KindKill, Target: "holder",
		When: string(nemesis.BetweenReadAndWrite), For: 1e10, After: 2e8,
		Every: scenarios.Range{Min: 1e10, Max: 1e10}})
	p.Scenario.Duration = scenarios.Duration(10 * time.Second)
	p.Scenario.Workload.AcquireTimeout, p.Scenario.Workload.OpTimeout = scenarios.Duration(25*time.Second),
		scenarios.Duration(15*time.Second)
	return p
}

// diagnoses counts the times at which fresh clients asked while the workload went on, the
// acquires of theirs that were granted then, and the clients of the workload that were closed.
func diagnoses(h *history.History) (times, granted, ended int) {
	phase := ""
	for i := range h.Events {
		e := &h.Events[i]
		fresh := int(e.Client) > h.Header.Clients
		switch {
		case e.Type == history.Mark:
			phase = e.Text
			if phase == history.PhaseAsk {
				times++
			}
		case phase != history.PhaseAsk && phase != history.PhaseProbe:
		case e.Type == history.OK && e.Kind == history.Acquire && fresh && phase == history.PhaseAsk:
			granted++
		case e.Type == history.OK && e.Kind == history.Close && !fresh:
			ended++
		}
	}
	return times, granted, ended
}

// A key that expired while nobody told the waiters: a fresh client is granted
// it at once, while the workload goes on.
func TestFreshClientsAskWhileTheRunGoesOn(t *testing.T) {
	t.Parallel()
	decided.Run(t, func() {
		h := carried(t, controls.Sleeper, deserted("broken-redis-sleeper"))
		times, granted, ended := diagnoses(h)
		if times == 0 || granted == 0 {
			decided.Lacks("a fresh client that was granted the key: asked %d times", times)
		}
		if ended > 0 {
			amiss(t, h, "%d clients were closed", ended)
		}
		if r := cameTo(t, h, checker.StuckLock, checker.Violated); r.Violations[0].Kind != checker.KindAsleep {
			// a fresh client that comes too late finds a key that was wedged until then
			amiss(t, h, "%+v", r)
		}
	})
}

// A key that never expires: nobody is granted it, no matter who is closed. Those who
// were closed while the workload went on are replaced.
func TestClientsAreClosedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	p := deserted("broken-no-ttl")
	// The first diagnosis ends after some 25 s, on a busy machine after 40. A client that waits
	// then for the key that nobody gets need not do so for long.
	p.Scenario.Duration, p.Scenario.Workload.AcquireTimeout = scenarios.Duration(30*time.Second), scenarios.Duration(10*time.Second)
	decided.Run(t, func() {
		defer func() { p.Scenario.Duration *= 2 }() // a machine that stands still again and again needs longer
		h := carried(t, controls.NoTTL, p)
		times, granted, ended := diagnoses(h)
		if granted > 0 {
			t.Errorf("asked %d times and granted %d", times, granted)
		}
		if times == 0 || ended < 2 { // nothing is asked for while the machine itself stalls
			decided.Lacks("two clients that were closed while the workload went on: asked %d times, %d closed", times, ended)
		}
		if r := cameTo(t, h, checker.StuckLock, checker.Violated); !slices.Contains(r.KindsFound(), checker.KindNeverExpired) {
			t.Errorf("%+v", r)
		}
	})
}

// A lock whose waiters look again is never asked for in vain, and nobody is closed.
func TestNobodyIsClosedForAHonestLock(t *testing.T) {
	t.Parallel()
	p := deserted("redis-setnx")
	p.Scenario.Duration = scenarios.Duration(6 * time.Second)
	decided.Run(t, func() {
		h := carried(t, redis.Setnx, p)
		if _, _, ended := diagnoses(h); ended > 0 {
			amiss(t, h, "%d clients were closed", ended)
		}
		cameTo(t, h, checker.StuckLock, checker.Pass)
	})
}
