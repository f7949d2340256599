package reports

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// TestNobodyIsBlamedInNoOrder: where the order of two grants is not known, a page tells what the verdict says and calls neither of them the earlier.
func TestNobodyIsBlamedInNoOrder(t *testing.T) {
	a, b := &checker.GrantRef{Grant: 1, Client: 1, Acquired: 10, LastAct: 50}, &checker.GrantRef{Grant: 2, Client: 2, Acquired: 20, LastAct: 60}
	for _, unordered := range []bool{false, true} {
		v := &checker.Violation{Property: checker.MutualExclusion, Kind: checker.KindGrantedWhileValid, Key: "k0", A: a, B: b, Unordered: unordered, Text: "The verdict's own sentence"}
		r := &record{h: &history.History{}}
		told := r.tellPair(&story{v: v, key: "k0", a: &grant{op: &op{id: 1, client: 1}}, b: &grant{op: &op{id: 2, client: 2}}}).String()
		var names []string
		for _, f := range (Scenario{}).explain(nil, v).Facts {
			names = append(names, f.Name)
		}
		facts := strings.Join(names, ", ")
		if strings.Contains(told, "own sentence") != unordered || strings.Contains(told, "still promised it") == unordered || strings.Contains(facts, "earlier grant") == unordered {
			t.Errorf("unordered %v: %q, %s", unordered, told, facts)
		}
	}
}

// crossed is a history of two grants, each inside the other's promise; the second client asks at the given instant (ms) and is frozen for a while.
func crossed(asks float64) *scene {
	s := newScene("counter", history.Claims{Validity: "from_invocation", Token: "none", Permits: 1})
	a, b := s.acquire(1, 0, 10), s.acquire(2, asks, 20)
	s.call(history.Event{Kind: history.Write, Client: 1, Grant: a, Value: 1}, 30, 31)
	s.call(history.Event{Kind: history.Write, Client: 2, Grant: b, Value: 2}, 32, 33)
	for _, phase := range []string{"begin", "end"} {
		s.Events = append(s.Events, history.Event{Type: history.Fault, Time: 1110 * ms, Fault: &history.FaultInfo{ID: 1, Kind: "pause", Phase: phase, Clients: []int32{2},
			From: 1040 * ms, To: 1100 * ms, Injected: true, Bit: true}})
	}
	s.call(history.Event{Kind: history.Write, Client: 2, Grant: b, Value: 3}, 120, 121)
	s.call(history.Event{Kind: history.Write, Client: 1, Grant: a, Value: 4}, 130, 131)
	s.call(history.Event{Kind: history.Release, Client: 1, Grant: a}, 140, 141)
	s.call(history.Event{Kind: history.Release, Client: 2, Grant: b}, 142, 143)
	s.Events = append(s.Events, history.Event{Type: history.Watermark, Time: 9000 * ms, Start: 9000 * ms}, history.Event{Type: history.End, Time: 9000 * ms})
	return s
}

// TestPageInNoOrder: no part of a page calls one of two grants the earlier where their order is not known; where it is known, the page says it.
func TestPageInNoOrder(t *testing.T) {
	for asks, unordered := range map[float64]bool{5: true, 15: false} {
		s := crossed(asks)
		v := checker.Judge(&s.History, checker.Options{Keep: KeptViolations})
		if p := v.Property(checker.MutualExclusion); p.Outcome != checker.Violated || p.Violations[0].Unordered != unordered {
			t.Fatalf("asked at %v ms: %s, %+v", asks, p.Outcome, p.Violations)
		}
		page := body(html.UnescapeString(reportOf(t, scenario("a-lock/pause-holder/unfenced", &s.History, v))))
		for _, words := range []string{"earlier grant", "earlier holder", "later holder", "no longer its own", "was promised it for another", "(stale)", "still promised it"} {
			if strings.Contains(page, words) == unordered {
				t.Errorf("asked at %v ms, %q: it is said although the order is unknown, or not said although it is known", asks, words)
			}
		}
		if froze := strings.Contains(page, "client 2 is frozen"); froze != unordered {
			t.Errorf("asked at %v ms: the freeze of client 2 is told: %v", asks, froze)
		}
	}
}
