package reports

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
)

// TestCausesComeFirst: what let a second holder in is named before the
// double-holds that come of it, whichever attack showed it first.
func TestCausesComeFirst(t *testing.T) {
	held := checker.PropertyResult{Name: checker.MutualExclusion, Outcome: checker.Violated, Count: 1,
		Kinds:      map[string]int{checker.KindGrantedWhileValid: 1},
		Violations: []checker.Violation{{Property: checker.MutualExclusion, Kind: checker.KindGrantedWhileValid}}}
	stolen := checker.PropertyResult{Name: checker.StolenRelease, Outcome: checker.Violated, Count: 1,
		Violations: []checker.Violation{{Property: checker.StolenRelease}}}
	of := func(attack string, all ...checker.PropertyResult) Scenario {
		return Scenario{Name: "any/" + attack, Fault: attack, Verdict: checker.Verdict{Outcome: checker.Violated, Properties: all}}
	}
	s := Suite{Exam: &Exam{Lock: "any"}, Scenarios: []Scenario{of("first", held), of("second", held, stolen)}}
	if got, want := s.Scenarios[1].OwnDefects(), []string{checker.StolenRelease, checker.KindGrantedWhileValid}; !slices.Equal(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
	both := checker.PropertyResult{Name: checker.MutualExclusion, Outcome: checker.Violated, Count: 2,
		Kinds: map[string]int{checker.KindGrantedWhileValid: 1, checker.KindSameIdentity: 1},
		Violations: append(slices.Clone(held.Violations),
			checker.Violation{Property: checker.MutualExclusion, Kind: checker.KindSameIdentity})}
	want := []string{checker.KindSameIdentity, checker.KindGrantedWhileValid}
	if got := of("third", both).OwnDefects(); !slices.Equal(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
	words := s.ExamDefects()
	if len(words) != 2 || !strings.Contains(words[1], "while it was promised") {
		t.Errorf("%q", words)
	}
}

// TestMostShownComesFirst: the headline names the defect that most attacks show,
// and says of one that never shows alone that it may be gone with the first.
func TestMostShownComesFirst(t *testing.T) {
	held := checker.PropertyResult{Name: checker.MutualExclusion, Outcome: checker.Violated, Count: 1,
		Kinds:      map[string]int{checker.KindGrantedWhileValid: 1},
		Violations: []checker.Violation{{Property: checker.MutualExclusion, Kind: checker.KindGrantedWhileValid}}}
	once := func(name string) checker.PropertyResult {
		return checker.PropertyResult{Name: name, Outcome: checker.Violated, Count: 1, Violations: []checker.Violation{{Property: name}}}
	}
	of := func(attack string, all ...checker.PropertyResult) Scenario {
		return Scenario{Name: "any/" + attack, Fault: attack, Verdict: checker.Verdict{Outcome: checker.Violated, Properties: all}}
	}
	s := Suite{Exam: &Exam{Lock: "any"}, Scenarios: []Scenario{of("a", held, once(checker.StolenRelease)),
		of("b", held), of("c", held), of("d", held, once(checker.StuckLock)), of("e", once(checker.StuckLock), held)}}
	words := s.ExamDefects()
	given, stuck, stolen := DefectWords(checker.KindGrantedWhileValid), DefectWords(checker.StuckLock), DefectWords(checker.StolenRelease)
	if !slices.Equal(words, []string{given, stuck, stolen}) {
		t.Errorf("%q", words)
	}
	order := DefectWords(checker.TokenOrder)
	told := Suite{Exam: s.Exam, Scenarios: []Scenario{of("a", once(checker.TokenOrder)), of("b", held, once(checker.TokenOrder))}}
	if words := told.ExamDefects(); words[0] != order || told.HidesBehind(given, order) {
		t.Errorf("%q: what a run shows beside tokens out of order, it would have shown with others", words)
	}
	if !s.HidesBehind(stuck, given) || s.HidesBehind(given, stuck) || len(s.ShownBy(stuck)) != 2 {
		t.Errorf("a defect that never shows alone hides behind the other, and no other does: %v", s.ShownBy(stuck))
	}
}

// TestAssumedOverrun: an overrun that assumes an order of two grants says so,
// unless another one needs no assumption.
func TestAssumedOverrun(t *testing.T) {
	of := func(assumed ...bool) Scenario {
		p := checker.PropertyResult{Name: checker.MutualExclusion, Outcome: checker.Violated, Count: len(assumed),
			Kinds: map[string]int{checker.KindLeaseOverrun: len(assumed)}}
		for _, a := range assumed {
			p.Violations = append(p.Violations, checker.Violation{Property: p.Name, Kind: checker.KindLeaseOverrun,
				Assumed: a, A: &checker.GrantRef{Client: 3}, Text: "the start of the attempt (attempt_ns) would"})
		}
		return Scenario{Verdict: checker.Verdict{Outcome: checker.Violated, Properties: []checker.PropertyResult{p}}}
	}
	const says = "if client 3 was granted the key first (attempt_ns would tell)"
	if got := of(true).CameTo(); !strings.HasPrefix(got, "fell: inherent: ") || !strings.HasSuffix(got, says) {
		t.Error(got)
	}
	if got := of(true, false).CameTo(); strings.Contains(got, says) {
		t.Error(got)
	}
}

// TestFailedAfterADefect: what was certain when the harness failed is told, and
// nothing else of such a run is.
func TestFailedAfterADefect(t *testing.T) {
	stolen := checker.Verdict{Outcome: checker.Violated,
		Properties: []checker.PropertyResult{{Name: checker.StolenRelease, Outcome: checker.Violated, Count: 1}}}
	allowed := []Expectation{{Property: checker.StolenRelease, Met: true}}
	for want, s := range map[Fate]Scenario{FellDefect: {Failed: "the service is gone", Verdict: stolen},
		NotRun:       {Failed: "the service is gone", Verdict: stolen, Expect: allowed},
		FellInherent: {Verdict: stolen, Expect: allowed}} {
		if got := s.Fate(); got != want {
			t.Errorf("%+v: %s, want %s", s, got, want)
		}
	}
	if got := (Scenario{Failed: "the service is gone"}).Fate(); got != NotRun {
		t.Errorf("a run without a verdict: %s", got)
	}
}

// TestChanceIsNotUnclear: a long wait that chance can bring about is held
// against a lock only if it claims to be fair.
func TestChanceIsNotUnclear(t *testing.T) {
	starved := checker.Verdict{Outcome: checker.Violated,
		Properties: []checker.PropertyResult{{Name: checker.Starvation, Outcome: checker.Violated, Count: 1, Kinds: map[string]int{"": 1}}}}
	for want, met := range map[Fate]bool{Stood: true, FellUnclear: false} {
		s := Scenario{Verdict: starved, Met: true, Expect: []Expectation{{Property: checker.Starvation, Want: "any", Met: met}}}
		if got := s.Fate(); got != want {
			t.Errorf("expected: %v: %s, want %s", met, got, want)
		}
		if left := s.LeftUnclear(); (len(left) == 0) != met {
			t.Errorf("expected: %v: left unclear: %v", met, left)
		}
	}
}
