package scenarios

import "testing"

func TestCompare(t *testing.T) {
	e := Expect{Properties: map[string]string{"mutual-exclusion": "violated", "token-order": "not judged"}, Severity: "contained"}
	for _, c := range []struct {
		name     string
		outcome  string
		order    string
		other    string
		severity string
		want     bool
	}{
		{"as expected", "violated", "not judged", "pass", "contained", true},
		{"unnamed and not judged", "violated", "not judged", "not judged", "contained", true},
		{"not caught", "pass", "not judged", "pass", "contained", false},
		{"inconclusive meets nothing", "inconclusive", "not judged", "pass", "contained", false},
		{"unnamed and inconclusive", "violated", "not judged", "inconclusive", "contained", false},
		{"unnamed and violated", "violated", "not judged", "violated", "contained", false},
		{"judged after all", "violated", "pass", "pass", "contained", false},
		{"worse than expected", "violated", "not judged", "pass", "corrupting", false},
	} {
		all := e.Compare([]Observed{{Property: "mutual-exclusion", Outcome: c.outcome},
			{Property: "token-order", Outcome: c.order}, {Property: "stuck-lock", Outcome: c.other}}, c.severity)
		if len(all) != 4 || Met(all) != c.want {
			t.Errorf("%s: %+v", c.name, all)
		}
	}
}

// A scenario that expects nothing of a property takes whatever comes; the
// others must still come out.
func TestAnyOutcome(t *testing.T) {
	e := Expect{Properties: map[string]string{"lost-update": "any"}}
	for _, outcome := range []string{"pass", "violated", "not judged", "inconclusive"} {
		if all := e.Compare([]Observed{{Property: "lost-update", Outcome: outcome}}, "none"); !Met(all) {
			t.Errorf("%s: %+v", outcome, all)
		}
		if all := e.Compare([]Observed{{Property: "lost-update", Outcome: outcome},
			{Property: "token-order", Outcome: "inconclusive"}}, "none"); Met(all) {
			t.Errorf("%s: %+v", outcome, all)
		}
	}
}
