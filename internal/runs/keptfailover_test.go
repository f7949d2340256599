package runs

import (
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// A failover that may have lost what was granted excuses a lock that grants it again. One of which
// the service shows that it lost nothing does not, and neither does it if another fault is there.
func TestKeptFailover(t *testing.T) {
	const ms = int64(time.Millisecond)
	nature := scenarios.Nature{Permits: 1, Forgets: true}
	failover := scenarios.Fault{Kind: nemesis.KindFailover, Target: "service", When: "random"}
	lost, keeps := []bool{false}, []bool{true}
	for name, c := range map[string]struct {
		kept   []bool // of each failover
		faults []scenarios.Fault
		want   reports.Fate
	}{
		"it may have lost a grant":  {lost, []scenarios.Fault{failover}, reports.FellRelied},
		"it has lost nothing":       {keeps, []scenarios.Fault{failover}, reports.FellDefect},
		"one of two has":            {[]bool{true, false}, []scenarios.Fault{failover}, reports.FellRelied},
		"a node also forgets":       {keeps, []scenarios.Fault{failover, {Kind: nemesis.KindCrash, Target: "redis-1", When: "random", Data: "lost"}}, reports.FellRelied},
		"a failover that never was": {nil, []scenarios.Fault{failover}, reports.FellRelied},
	} {
		s := scenarios.Scenario{Name: name, Lock: "a", Store: scenarios.Store{Kind: "unfenced"}, Faults: c.faults}
		s.Expect = nature.Examined(s.Store, s.Faults)
		if got := Assess(grantedTwice(ms, c.kept), s); got.Fate() != c.want || got.Verdict.Outcome != checker.Violated {
			t.Errorf("%s: %v, want %v: %+v", name, got.Fate(), c.want, got.Verdict.Outcome)
		}
	}
}

// grantedTwice is a history in which a key is granted to another client inside a promise, after
// failovers.
func grantedTwice(ms int64, kept []bool) *history.History {
	h := &history.History{Keys: []string{"k"}, Header: history.Header{Format: history.FormatVersion, TTL: 1000 * ms, Clients: 2, Nodes: 2,
		Claims: history.Claims{Validity: "from_invocation", Token: "none", Permits: 1, Confirms: []string{"release"}},
		Store:  history.Store{Engine: "sqlite"}}}
	at := int64(0)
	add := func(e history.Event) {
		at += ms
		e.Time = at
		h.Events = append(h.Events, e)
	}
	acquire := func(client int32, op int64) {
		e := history.Event{Type: history.Invoke, Kind: history.Acquire, Op: op, Client: client, Process: client}
		add(e)
		start := at
		e.Type, e.Grant, e.Start, e.End, e.Attempt, e.First = history.OK, op, start, start+ms/2, start, start
		add(e)
	}
	acquire(1, 1)
	touch := nemesis.Spec{Kind: nemesis.KindFailover}.Touch()
	for i, kept := range kept {
		f := history.FaultInfo{ID: i + 1, Plan: 1, Kind: nemesis.KindFailover, Touch: &touch, Target: "service", When: "random", Phase: "begin",
			Service: true, Injected: true}
		begin := f
		add(history.Event{Type: history.Fault, Fault: &begin})
		f.Phase, f.From, f.Bit, f.Kept, f.Evidence = "end", at, true, kept, "seen"
		f.To = at + ms
		add(history.Event{Type: history.Fault, Fault: &f})
	}
	acquire(2, 2)
	add(history.Event{Type: history.End})
	return h
}
