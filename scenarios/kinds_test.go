package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/lockchaos/lockchaos/checker"
)

// A control is caught by its own defect: one violation at least is of a kind that it names.
func TestExpectedKinds(t *testing.T) {
	e := Expect{Properties: map[string]string{checker.StuckLock: "violated"},
		Kinds: map[string][]string{checker.StuckLock: {"ghost", "wedged"}}}
	for _, c := range []struct {
		outcome string
		kinds   []string
		got     string
		want    bool
	}{
		{"violated", []string{"ghost"}, "violated", true},
		{"violated", []string{"asleep", "wedged"}, "violated", true},
		{"violated", []string{"asleep"}, "violated (asleep)", false},
		{"violated", nil, "violated (of no kind)", false},
		{"pass", nil, "pass", false},
		{"inconclusive", []string{"ghost"}, "inconclusive", false},
	} {
		all := e.Compare([]Observed{{Property: checker.StuckLock, Outcome: c.outcome, Kinds: c.kinds}}, "")
		if len(all) != 1 || all[0].Met != c.want || all[0].Got != c.got || all[0].Want != "violated (ghost or wedged)" {
			t.Errorf("%s %v: %+v", c.outcome, c.kinds, all)
		}
	}
}

// TestKindsAreValidated: a kind that the property has not, or that could never
// be met, is an error of the file.
func TestKindsAreValidated(t *testing.T) {
	for _, c := range []struct{ expect, says string }{
		{"properties: {stuck-lock: violated}, kinds: {stuck-lock: [ghost, wedged]}", ""},
		{"properties: {stuck-lock: violated}, kinds: {stuck-lock: [lease-overrun]}",
			`unknown kind "lease-overrun": one of ghost, asleep, wedged, never-expired`},
		{"properties: {stuck-lock: any}, kinds: {stuck-lock: [ghost]}", "expects to be violated"},
		{"properties: {token-order: violated}, kinds: {token-order: [ghost]}", "violations of token-order are of no kinds"},
	} {
		_, err := Parse([]byte(strings.Replace(good, "properties: {token-order: not judged}", c.expect, 1)), "my.yaml", catalogue)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.expect, err)
		}
	}
}

// TestControlsNameTheirKinds: of every control that is caught by a property
// with kinds, the kind is named too.
func TestControlsNameTheirKinds(t *testing.T) {
	text, err := builtin.ReadFile("controls.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var suite struct {
		Scenarios []struct {
			Name   string
			Expect Expect
		}
	}
	if err := yaml.Unmarshal(text, &suite); err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, s := range suite.Scenarios {
		for property, outcome := range s.Expect.Properties {
			p := checker.Named(property)
			// only a transaction's lost updates are of a kind
			if outcome != "violated" || p.KindNames() == nil || property == checker.LostUpdate {
				continue
			}
			named++
			if kinds := s.Expect.Kinds[property]; len(kinds) == 0 || slices.Contains(kinds, "") {
				t.Errorf("%s expects %s to be violated, and does not say of which kind", s.Name, property)
			}
		}
	}
	if named == 0 {
		t.Error("no control is caught by a kind")
	}
}
