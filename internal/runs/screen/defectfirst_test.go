package screen

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/scenarios"
)

// The violations of these tests, by their texts.
var (
	anOverrun = checker.Violation{Property: checker.MutualExclusion, Kind: checker.KindLeaseOverrun, At: 10, Text: "an overrun"}
	aDefect   = checker.Violation{Property: checker.MutualExclusion, Kind: checker.KindGrantedWhileValid, At: 30, Text: "a defect"}
	another   = checker.Violation{Property: checker.Continuity, At: 20, Text: "another defect"}
)

// TestLiveDefect checks that those who watch a run see the first violation, and
// the first certain defect after it.
func TestLiveDefect(t *testing.T) {
	for _, c := range []struct {
		name string
		told []checker.Violation
		want []string
	}{
		{"overruns alone", []checker.Violation{anOverrun, anOverrun}, []string{"! a: mutual-exclusion: an overrun"}},
		{"a defect later", []checker.Violation{anOverrun, anOverrun, aDefect, another},
			[]string{"! a: mutual-exclusion: an overrun", "! a: mutual-exclusion, a defect of the lock: a defect"}},
		{"a defect at once", []checker.Violation{another, anOverrun, aDefect},
			[]string{"! a: continuity, a defect of the lock: another defect"}},
		{"a clock is broken", []checker.Violation{aDefect},
			[]string{"! a: mutual-exclusion, for what the lock relies on is broken: a defect"}},
	} {
		var out bytes.Buffer
		s := New(&out)
		if c.name == "a clock is broken" {
			relied := scenarios.Expect{Relied: []string{checker.MutualExclusion}}
			s.plans = map[string]scenarios.Plan{"a": {Scenario: scenarios.Scenario{Expect: relied}}}
		}
		for _, v := range c.told {
			s.Violation("a", v)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != len(c.want) {
			t.Errorf("%s: %q, want %q", c.name, lines, c.want)
			continue
		}
		for i := range lines {
			if !strings.HasSuffix(lines[i], c.want[i]) {
				t.Errorf("%s: line %d is %q, want %q", c.name, i+1, lines[i], c.want[i])
			}
		}
	}
}

// TestFirstViolation checks which violation is told of a scenario that ended before it was seen.
func TestFirstViolation(t *testing.T) {
	verdict := func(all ...checker.Violation) checker.Verdict {
		var v checker.Verdict
		for _, x := range all {
			v.Properties = append(v.Properties, checker.PropertyResult{Name: x.Property, Violations: []checker.Violation{x}})
		}
		return v
	}
	for want, v := range map[string]checker.Verdict{
		"an overrun": verdict(anOverrun), "a defect": verdict(anOverrun, aDefect), "another defect": verdict(anOverrun, aDefect, another),
	} {
		if got := FirstViolation(v); got == nil || got.Text != want {
			t.Errorf("%v is told, want %s", got, want)
		}
	}
	if got := FirstViolation(checker.Verdict{}); got != nil {
		t.Errorf("%v is told of a verdict without violations", got)
	}
}
