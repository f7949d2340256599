package reports

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
)

// TestCausesComeFirst: what let a second holder in is named before the double-holds that come of it, whichever attack showed it first.
func TestCausesComeFirst(t *testing.T) {
	held := checker.PropertyResult{Name: checker.MutualExclusion, Outcome: checker.Violated, Count: 1, Kinds: map[string]int{checker.KindGrantedWhileValid: 1},
		Violations: []checker.Violation{{Property: checker.MutualExclusion, Kind: checker.KindGrantedWhileValid}}}
	stolen := checker.PropertyResult{Name: checker.StolenRelease, Outcome: checker.Violated, Count: 1, Violations: []checker.Violation{{Property: checker.StolenRelease}}}
	of := func(attack string, all ...checker.PropertyResult) Scenario {
		return Scenario{Name: "any/" + attack, Fault: attack, Verdict: checker.Verdict{Outcome: checker.Violated, Properties: all}}
	}
	s := Suite{Exam: &Exam{Lock: "any"}, Scenarios: []Scenario{of("first", held), of("second", held, stolen)}}
	if got, want := s.Scenarios[1].OwnDefects(), []string{checker.StolenRelease, checker.KindGrantedWhileValid}; !slices.Equal(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
	words := s.ExamDefects()
	if len(words) != 2 || !strings.Contains(words[1], "while it was promised") {
		t.Errorf("%q", words)
	}
}

// TestFailedAfterADefect: what was certain when the harness failed is told, and nothing else of such a run is.
func TestFailedAfterADefect(t *testing.T) {
	stolen := checker.Verdict{Outcome: checker.Violated, Properties: []checker.PropertyResult{{Name: checker.StolenRelease, Outcome: checker.Violated, Count: 1}}}
	allowed := []Expectation{{Property: checker.StolenRelease, Met: true}}
	for want, s := range map[Fate]Scenario{FellDefect: {Failed: "the service is gone", Verdict: stolen}, NotRun: {Failed: "the service is gone", Verdict: stolen, Expect: allowed},
		FellInherent: {Verdict: stolen, Expect: allowed}} {
		if got := s.Fate(); got != want {
			t.Errorf("%+v: %s, want %s", s, got, want)
		}
	}
	if got := (Scenario{Failed: "the service is gone"}).Fate(); got != NotRun {
		t.Errorf("a run without a verdict: %s", got)
	}
}
