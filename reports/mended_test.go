package reports

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
)

// attackOf is an attack that has violated the properties once each, all for certain.
func attackOf(name string, violated ...string) Scenario {
	s := Scenario{Name: "any/" + name, Fault: name, Verdict: checker.Verdict{Outcome: checker.Pass}}
	for _, p := range violated {
		s.Verdict.Outcome = checker.Violated
		s.Verdict.Properties = append(s.Verdict.Properties,
			checker.PropertyResult{Name: p, Outcome: checker.Violated, Count: 1, Violations: []checker.Violation{{Property: p}}})
	}
	return s
}

// heldAlone is an attack in which a client was granted the lock while another
// could rely on it, and nothing else showed.
func heldAlone(name string) Scenario {
	s := attackOf(name, checker.MutualExclusion)
	p := &s.Verdict.Properties[0]
	p.Kinds, p.Violations[0].Kind = map[string]int{checker.KindGrantedWhileValid: 1}, checker.KindGrantedWhileValid
	return s
}

// TestMended: what a lock comes to without its first defect follows from the
// attacks that were made again.
func TestMended(t *testing.T) {
	inconclusive := attackOf("b")
	inconclusive.Verdict.Outcome = checker.Inconclusive
	before := []Scenario{attackOf("a", checker.StolenRelease), attackOf("b", checker.StolenRelease, checker.StuckLock),
		attackOf("c", checker.StolenRelease), attackOf("d", checker.FalseBusy), heldAlone("e")}
	for _, c := range []struct {
		name        string
		again       []Scenario
		want        MendedOutcome
		still, gone []string
		says        string
	}{
		{"stands", []Scenario{attackOf("a"), attackOf("b")}, MendedStands, nil, []string{checker.StuckLock},
			"without that defect: stands (2 of 3 fallen attacks made again on an application that waits)"},
		{"one shows nothing", []Scenario{attackOf("a"), inconclusive}, MendedStands, nil, nil, "stands"},
		{"falls still", []Scenario{attackOf("a"), attackOf("b", checker.StuckLock)}, MendedFalls,
			[]string{checker.StuckLock}, nil, "falls still: " + DefectWords(checker.StuckLock) + " (2 of 3 fallen attacks"},
		{"a defect that never showed before", []Scenario{attackOf("a", checker.FalseLoss)}, MendedFalls,
			[]string{checker.FalseLoss}, nil, "falls still: "},
		{"the first defect is not avoided", []Scenario{attackOf("a"),
			attackOf("b", checker.StolenRelease, checker.StuckLock)}, MendedUnknown, nil, nil,
			"not known, since an application that waits meets it, too"},
		{"another one falls still", []Scenario{attackOf("a", checker.StolenRelease), attackOf("b", checker.StuckLock)},
			MendedFalls, []string{checker.StuckLock}, nil, "that waits; 1 met the first defect all the same)"},
		{"what showed without it did not show again", []Scenario{attackOf("a"), attackOf("d")}, MendedUnknown, nil, nil,
			"did not show that again"},
		{"what comes of it showed alone, and does not show again", []Scenario{attackOf("a"), attackOf("e")},
			MendedStands, nil, nil, "stands"},
		{"nothing follows", []Scenario{inconclusive}, MendedUnknown, nil, nil, "not known, since nothing followed"},
		{"nothing was made", nil, MendedUnknown, nil, nil, "not known, since nothing followed"},
	} {
		m := &Mended{Defect: checker.StolenRelease, Fell: 3, Attacks: []string{"a", "b"}, Avoids: "waits"}
		m.Judge(c.again, before)
		if m.Outcome != c.want || !slices.Equal(m.Still, c.still) || !slices.Equal(m.Gone, c.gone) ||
			!strings.Contains(m.String(), c.says) {
			t.Errorf("%s: %s, still %v, gone %v", c.name, m, m.Still, m.Gone)
		}
	}
}

// TestMendedUnclear: a violation of which it is not clear whose affair it is
// leaves open what the lock comes to.
func TestMendedUnclear(t *testing.T) {
	unclear := Scenario{Fault: "a", Verdict: checker.Verdict{Outcome: checker.Violated,
		Properties: []checker.PropertyResult{{Name: checker.Starvation, Outcome: checker.Violated, Count: 1,
			Kinds: map[string]int{"": 1}}}}}
	m := &Mended{Defect: checker.StolenRelease, Avoids: "waits"}
	if m.Judge([]Scenario{unclear, attackOf("b")}, nil); m.Outcome != MendedUnknown || !strings.Contains(m.Why, "not clear") {
		t.Errorf("%s", m)
	}
}

// TestFirstHiding: the first defect is masked that can hide another.
func TestFirstHiding(t *testing.T) {
	s := Suite{Exam: &Exam{}, Scenarios: []Scenario{attackOf("a", checker.TokenOrder),
		attackOf("b", checker.TokenOrder, checker.KeptKey), attackOf("c")}}
	if name := s.FirstHiding(); name != checker.KeptKey {
		t.Errorf("%q, not a kept key", name)
	}
	s.Scenarios = s.Scenarios[:1]
	if name := s.FirstHiding(); name != "" {
		t.Errorf("%s hides something", name)
	}
}

// TestBehind: of a defect that no attack has shown without the first one, it is told what is known.
func TestBehind(t *testing.T) {
	m := &Mended{Still: []string{checker.StuckLock}, Gone: []string{checker.FalseLoss}}
	for _, c := range []struct {
		m            *Mended
		defect, want string
	}{{m, checker.StuckLock, ""}, {m, checker.FalseLoss, "does not show"}, {m, checker.KeptKey, "is not known"},
		{nil, checker.StuckLock, "is not known"}} {
		if got := c.m.Behind(DefectWords(c.defect)); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.defect, got)
		}
	}
}
