package scenarios

import (
	"slices"

	"github.com/lockchaos/lockchaos/checker"
)

// The words of Word, but for "contained" and "pass", which are those of a
// severity and of an outcome.
const (
	wordCorrupted = "corrupted"
	wordContained = "contained"
	wordViolated  = "violated"
	wordPass      = "pass"
	wordEither    = "either"
)

// Word is the expectation in one of the words that results have: "pass", "contained", "corrupted",
// "violated". Where theory leaves to chance whether anything is violated, it is "either".
func (e Expect) Word() string {
	var must []string
	chance := false
	for property, want := range e.Properties {
		switch want {
		case "violated", lateOutcome:
			must = append(must, property)
		case anyOutcome, overrunOutcome:
			chance = chance || property != checker.Starvation
		}
	}
	harms := func(property string) bool {
		return slices.Contains([]string{checker.UnfencedWrite, checker.LostUpdate, checker.DuplicateEffect}, property)
	}
	beside := func(property string) bool { return property != checker.MutualExclusion }
	switch {
	case e.Severity == "corrupting" || slices.ContainsFunc(must, harms):
		return wordCorrupted
	case slices.ContainsFunc(must, beside) || len(must) > 0 && e.Severity != wordContained || e.Severity == "untested":
		return wordViolated
	case e.Severity == wordContained:
		return wordContained
	case chance && e.Severity == "":
		return wordEither
	}
	return wordPass
}

// Corrupts reports whether the expectation is that data are corrupted.
func (e Expect) Corrupts() bool { return e.Word() == wordCorrupted }
