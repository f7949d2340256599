package reports

import (
	"slices"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
)

// TestOverslept: a run is made again where nothing but the machine made a
// holder late, and stands where the lock has done anything.
func TestOverslept(t *testing.T) {
	passes := func(names ...string) (all []Expectation) {
		for _, name := range names {
			all = append(all, Expectation{Property: name, Want: "pass", Got: "violated"})
		}
		return append(all, Expectation{Property: RuleSeverity, Want: "none", Got: "corrupting"})
	}
	held := func(kind string) checker.PropertyResult {
		return checker.PropertyResult{Name: checker.MutualExclusion, Outcome: checker.Violated, Count: 1, Kinds: map[string]int{kind: 1}}
	}
	lost := checker.PropertyResult{Name: checker.LostUpdate, Outcome: checker.Violated, Count: 1}
	stolen := checker.PropertyResult{Name: checker.StolenRelease, Outcome: checker.Violated, Count: 1}
	for _, c := range []struct {
		name     string
		results  []checker.PropertyResult
		stalled  bool
		expected []Expectation
		want     bool
	}{
		{"a late holder and its harm", []checker.PropertyResult{held(checker.KindLeaseOverrun), lost}, true,
			passes(checker.MutualExclusion, checker.LostUpdate), true},
		{"nothing held it up", []checker.PropertyResult{held(checker.KindLeaseOverrun), lost}, false,
			passes(checker.MutualExclusion, checker.LostUpdate), false},
		{"a key given away", []checker.PropertyResult{held(checker.KindGrantedWhileValid), lost}, true,
			passes(checker.MutualExclusion, checker.LostUpdate), false},
		{"not clear", []checker.PropertyResult{held(checker.KindUnexplained)}, true, passes(checker.MutualExclusion), false},
		{"a defect beside it", []checker.PropertyResult{held(checker.KindLeaseOverrun), stolen}, true,
			passes(checker.MutualExclusion, checker.StolenRelease), false},
		{"it was expected", []checker.PropertyResult{held(checker.KindLeaseOverrun)}, true,
			[]Expectation{{Property: checker.MutualExclusion, Met: true}}, false},
		{"a violation that did not come", nil, true, []Expectation{{Property: checker.LostUpdate, Want: "violated", Got: "pass"}}, false},
	} {
		s := Scenario{Verdict: checker.Verdict{Outcome: checker.Violated, Properties: c.results}, Expect: c.expected,
			Met:     len(c.expected) == 1 && c.expected[0].Met,
			figures: &figures{overslept: c.stalled}}
		if got := s.Overslept(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestRepeatsWhatTheMachineDid: a holder that came too late though no fault holds one up is the
// machine's doing if that stalled. With such a fault, without a stall, or with a defect the outcome
// stands.
func TestRepeatsWhatTheMachineDid(t *testing.T) {
	held := func(kind string) []checker.PropertyResult {
		return []checker.PropertyResult{{Name: checker.MutualExclusion, Outcome: checker.Violated, Count: 1,
			Kinds: map[string]int{kind: 1}, Violations: []checker.Violation{{Property: checker.MutualExclusion, Kind: kind}}}}
	}
	for _, c := range []struct {
		name                  string
		kind                  string
		unhindered, overslept bool
		again                 bool
	}{
		{"late, on a machine that stalled", checker.KindLeaseOverrun, true, true, true},
		{"late, and nothing stalled", checker.KindLeaseOverrun, true, false, false},
		{"late by a fault", checker.KindLeaseOverrun, false, true, false},
		{"a defect", checker.KindGrantedWhileValid, true, true, false},
	} {
		s := Scenario{Unhindered: c.unhindered, figures: &figures{overslept: c.overslept},
			Verdict: checker.Verdict{Outcome: checker.Violated, Properties: held(c.kind)}}
		if why := s.RepeatReason(); (why != "") != c.again {
			t.Errorf("%s: %q", c.name, why)
		}
	}
}

// TestUnshown: a scenario that lacks nothing but violations that it expects is known by it.
func TestUnshown(t *testing.T) {
	missed := func(property, want, got string) Expectation {
		return Expectation{Property: property, Want: want, Got: got}
	}
	stuck, severity := missed(checker.StuckLock, "violated", "pass"), missed(RuleSeverity, "corrupting", "none")
	for name, c := range map[string]struct {
		expected []Expectation
		met      bool
		want     []string
	}{
		"a violation that did not come": {[]Expectation{stuck, severity}, false, []string{checker.StuckLock}},
		"beside another that came":      {[]Expectation{stuck, missed(checker.LostUpdate, "pass", "violated")}, false, nil},
		"beside what is left open":      {[]Expectation{stuck, missed(checker.LostUpdate, "pass", "inconclusive")}, false, nil},
		"all came": {[]Expectation{{Property: checker.StuckLock, Want: "violated", Got: "violated",
			Met: true}}, true, nil},
		"nothing is expected": {nil, false, nil},
	} {
		s := Scenario{Verdict: checker.Verdict{Outcome: checker.Pass}, Expect: c.expected, Met: c.met}
		if got := s.Unshown(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestConvicts: what was violated as expected convicts nobody, and what was not
// does, whatever the harness came to.
func TestConvicts(t *testing.T) {
	lost := checker.Verdict{Outcome: checker.Violated,
		Properties: []checker.PropertyResult{{Name: checker.LostUpdate, Outcome: checker.Violated, Count: 1}}}
	met, missed := []Expectation{{Property: checker.LostUpdate, Met: true}}, []Expectation{{Property: checker.LostUpdate}}
	for _, c := range []struct {
		s    Scenario
		want bool
	}{
		{Scenario{Failed: "x", Verdict: lost, Expect: missed}, true},
		{Scenario{Failed: "x", Verdict: lost}, true}, // nothing is expected: the properties decide
		{Scenario{Failed: "x", Verdict: lost, Expect: met}, false},
		{Scenario{Failed: "x", Expect: missed}, false},
	} {
		if got := c.s.Convicts(); got != c.want {
			t.Errorf("%+v: %v", c.s, got)
		}
	}
}
