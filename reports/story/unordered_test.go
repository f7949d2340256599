package story

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
)

// TestNobodyIsBlamedInNoOrder: where the order of two grants is not known, a
// page tells what the verdict says and calls neither of them the earlier.
func TestNobodyIsBlamedInNoOrder(t *testing.T) {
	a, b := &checker.GrantRef{Grant: 1, Client: 1, Acquired: 10, LastAct: 50},
		&checker.GrantRef{Grant: 2, Client: 2, Acquired: 20, LastAct: 60}
	for _, unordered := range []bool{false, true} {
		v := &checker.Violation{Property: checker.MutualExclusion, Kind: checker.KindGrantedWhileValid, Key: "k0", A: a,
			B: b, Unordered: unordered, Text: "The verdict's own sentence"}
		r := &reports.Record{View: &history.View{History: &history.History{}}}
		told := tellPair(r, &Story{Violation: v, Key: "k0", A: &history.Grant{Op: &history.Op{ID: 1, Client: 1}},
			B: &history.Grant{Op: &history.Op{ID: 2, Client: 2}}}).String()
		var names []string
		for _, f := range ExplainViolation((reports.Scenario{}), nil, v).Facts {
			names = append(names, f.Name)
		}
		facts := strings.Join(names, ", ")
		if strings.Contains(told, "own sentence") != unordered ||
			strings.Contains(told, "still promised it") == unordered || strings.Contains(facts, "earlier grant") == unordered {
			t.Errorf("unordered %v: %q, %s", unordered, told, facts)
		}
	}
}
