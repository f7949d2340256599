package reports

import (
	"strings"
	"testing"

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
