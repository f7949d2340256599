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
	aLateOne  = checker.Violation{Property: checker.DeadGrant, At: 40, Text: "a late grant"}
	another   = checker.Violation{Property: checker.Continuity, At: 20, Text: "another defect"}
)

// TestLiveDefect checks that those who watch a run see the first violation, and
// the first certain defect after it.
func TestLiveDefect(t *testing.T) {
	for _, c := range []struct {
		name   string
		expect scenarios.Expect
		told   []checker.Violation
		want   []string
	}{
		{"overruns alone", scenarios.Expect{}, []checker.Violation{anOverrun, anOverrun}, []string{"! a: mutual-exclusion: an overrun"}},
		{"a defect later", scenarios.Expect{}, []checker.Violation{anOverrun, anOverrun, aDefect, another},
			[]string{"! a: mutual-exclusion: an overrun", "! a: mutual-exclusion, a defect of the lock: a defect"}},
		{"a defect at once", scenarios.Expect{}, []checker.Violation{another, anOverrun, aDefect},
			[]string{"! a: continuity, a defect of the lock: another defect"}},
		{"a clock is broken", scenarios.Expect{Relied: []string{checker.MutualExclusion}}, []checker.Violation{aDefect},
			[]string{"! a: mutual-exclusion, because what the lock relies on is broken: a defect"}},
		{"a late grant", scenarios.Expect{Inherent: true}, []checker.Violation{aLateOne},
			[]string{"! a: dead-grant, a defect of the lock: a late grant"}},
		{"a late grant that the claims allow", scenarios.Expect{Inherent: true, Properties: map[string]string{checker.DeadGrant: "any"}},
			[]checker.Violation{aLateOne},
			[]string{"! a: dead-grant, which the application must check: the lock says only how long a lease lasts: a late grant"}},
	} {
		var out bytes.Buffer
		s := New(&out)
		s.plans = map[string]scenarios.Plan{"a": {Scenario: scenarios.Scenario{Expect: c.expect}}}
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
