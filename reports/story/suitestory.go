package story

import (
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// SuiteHeadline says in a sentence how the suite came out.
func SuiteHeadline(s reports.Suite) string {
	if s.Exam != nil && len(s.Scenarios) > 0 {
		return examHeadline(s)
	}
	n := s.Tally()
	all := len(s.Scenarios)
	if all == 0 {
		return "No scenario was run"
	}
	parts := []string{phrase.Plural(all, "scenario")}
	count := func(n int, words string) {
		if n > 0 {
			parts = append(parts, phrase.Grouped(n)+" "+words)
		}
	}
	unexpected, ran := number(s.Scenarios, reports.Scenario.Unexpected), all-n[reports.Skipped]-n[reports.Failed]
	switch {
	case ran > 0 && !slices.ContainsFunc(s.Scenarios, func(x reports.Scenario) bool { return len(x.Expect) > 0 }):
		for _, r := range []reports.Result{reports.Corrupted, reports.Violated, reports.Contained, reports.Inconclusive,
			reports.Pass} {
			count(n[r], r.String())
		}
	case ran > 0 && unexpected == all:
		return parts[0] + ", none as expected"
	case ran > 0 && unexpected > 0:
		count(unexpected, "did not come out as expected")
	case ran == all && all == 1:
		parts = append(parts, "as expected")
	case ran == all:
		parts = append(parts, "all as expected")
	default:
		count(ran, "as expected")
	}
	count(n[reports.Failed], "failed to run")
	count(n[reports.Skipped], "skipped")
	return strings.Join(parts, ", ")
}

// number counts the scenarios that are so.
func number(all []reports.Scenario, so func(reports.Scenario) bool) (n int) {
	for _, x := range all {
		if so(x) {
			n++
		}
	}
	return n
}

// namedUnexpected is how many scenarios a lede names that came out otherwise than expected.
const namedUnexpected = 2

// unexpectedSentence tells first what was not expected. That a run merely shows
// too little for a pass is told by undecided.
func unexpectedSentence(s reports.Suite) []string {
	var told []string
	all := 0
	for _, x := range s.Scenarios {
		if !x.Unexpected() || x.TooLittle() {
			continue
		}
		if all++; all <= namedUnexpected {
			text := phrase.Clip(x.Name, phrase.MostName) + " came out as " + x.Result().String()
			if d := x.Detail(); d != "" {
				text += " (" + strings.TrimSuffix(phrase.OneLine(d), ".") + ")"
			}
			told = append(told, text)
		}
	}
	if all == 0 {
		return nil
	}
	if more := all - len(told); more > 0 {
		told = append(told, phrase.Grouped(more)+" more did not come out as expected")
	}
	return []string{"Not expected: " + strings.Join(told, "; ") + "."}
}

// SuiteLede tells what the results show together. Each sentence is said only when
// every scenario that it speaks of agrees; where they differ it names those that do.
func SuiteLede(s reports.Suite) string {
	if s.Exam != nil {
		return examLede(s)
	}
	out := append(unexpectedSentence(s), defectSentence(s)...)
	out = append(out, jobSentences(s.Scenarios)...)
	rest := undecided(s)
	if s.Scenarios = slices.DeleteFunc(slices.Clone(s.Scenarios), ofJob); len(s.Scenarios) == 0 {
		return strings.Join(append(out, rest...), " ")
	}
	var quiet, held []reports.Scenario
	for _, x := range s.Scenarios {
		if !x.Judged() {
			continue
		}
		if undisturbed(x) {
			quiet = append(quiet, x)
		}
		if x.Violated(checker.MutualExclusion) {
			held = append(held, x)
		}
	}
	if text := quietSentence(quiet, len(faultGroups(s)) > 0); text != "" {
		out = append(out, text)
	}
	if reports.MostlyGaps(reports.Matrix(s)) {
		if text := byFaultSentence(s.Scenarios); text != "" {
			out = append(out, text)
		}
		return strings.Join(append(out, rest...), " ")
	}
	for _, f := range faultGroups(s) {
		if text := f.sentence(); text != "" {
			out = append(out, text)
		}
	}
	if text := storeSentence(held, !slices.ContainsFunc(s.Scenarios,
		func(x reports.Scenario) bool { return !x.Judged() })); text != "" {
		out = append(out, text)
	}
	if text := earlySentence(s.Scenarios); text != "" {
		out = append(out, text)
	}
	if text := guardSentence(s.Scenarios); text != "" {
		out = append(out, text)
	}
	return strings.Join(append(out, rest...), " ")
}

// defectSentence names the locks in use that showed a defect that nobody
// expected, and how; then what no lease prevents in the same scenarios.
func defectSentence(s reports.Suite) []string {
	var locks, words []string
	var over reports.Amount
	runs := 0
	for _, x := range s.Scenarios {
		all := x.Defects()
		if x.Control || !x.Judged() || len(all) == 0 || len(x.Expect) > 0 && x.Met {
			continue
		}
		runs++
		these := x.Overruns()
		over.N, over.Least = over.N+these.N, over.Least || these.Least
		if name := phrase.Clip(x.Lock, phrase.MostName); !slices.Contains(locks, name) {
			locks = append(locks, name)
		}
		for _, d := range all {
			if !slices.Contains(words, d.Words()) {
				words = append(words, d.Words())
			}
		}
	}
	if runs == 0 {
		return nil
	}
	return []string{"In " + phrase.Plural(runs, "scenario") + " " + nameLocks(locks, len(locks)) + " showed " +
		phrase.Plural(len(words), "defect") + ": " + phrase.List(words) + besideOverruns(over) + "."}
}

// undecided are the sentences about scenarios that prove nothing, or too little, if there are any.
func undecided(s reports.Suite) (told []string) {
	little := 0
	for _, x := range s.Scenarios {
		if x.TooLittle() {
			little++
		}
	}
	switch little {
	case 0:
	case 1:
		told = append(told, "One scenario shows what was expected, and too little of the rest for a pass.")
	default:
		told = append(told, phrase.Plural(little, "scenario")+
			" show what was expected, and too little of the rest for a pass.")
	}
	switch n := s.Tally()[reports.Inconclusive]; n {
	case 0:
		return told
	case 1:
		return append(told, "One scenario proves nothing either way.")
	default:
		return append(told, phrase.Plural(n, "scenario")+" prove nothing either way.")
	}
}

// undisturbed reports whether the plan disturbed nothing.
func undisturbed(s reports.Scenario) bool { return s.Undisturbed || reports.IsQuiet(s.Fault) }

// quietSentence speaks of the runs that nothing disturbed.
func quietSentence(quiet []reports.Scenario, disturbed bool) string {
	var wrong []string
	for _, x := range quiet {
		if x.Result() != reports.Pass && (x.Unexpected() || len(x.Expect) == 0 ||
			x.Violated(checker.MutualExclusion)) && !slices.Contains(wrong, phrase.Clip(x.Lock, phrase.MostName)) {
			wrong = append(wrong, phrase.Clip(x.Lock, phrase.MostName))
		}
	}
	switch {
	case len(wrong) > 0:
		return phrase.List(wrong) + " fell even though nothing was disturbed."
	case len(quiet) > 0 && !disturbed && slices.ContainsFunc(quiet,
		func(x reports.Scenario) bool { return x.Verdict.Outcome == checker.Violated }):
		return "Nothing was disturbed, and only the expected properties were violated."
	case len(quiet) > 0 && !disturbed:
		return "Nothing was violated while nothing was disturbed. Without a fault that says little: locks break when something else breaks."
	}
	return ""
}

// storeSentence says what the double-holds did to the data; complete tells that
// every scenario of the suite has been judged.
func storeSentence(held []reports.Scenario, complete bool) string {
	var broken []string // fenced stores that took a stale write all the same
	fenced, corrupted, asTheory := 0, 0, len(held) > 0
	for _, x := range held {
		fence, result := x.Store == "fenced", x.Result()
		if fence {
			fenced++
			asTheory = asTheory && result == reports.Contained
		} else {
			asTheory = asTheory && result == reports.Corrupted
		}
		if result == reports.Corrupted {
			corrupted++
			if fence {
				broken = append(broken, phrase.Clip(x.Name, phrase.MostName))
			}
		}
	}
	switch {
	case len(held) == 0:
		return ""
	case len(broken) > 0:
		return "Even the fenced store took stale writes in " + phrase.List(broken) + "."
	case !asTheory:
		return phrase.Grouped(corrupted) + " of " + phrase.Grouped(len(held)) + " such runs corrupted the data."
	case fenced == len(held):
		return "The store refused every stale write, and the data stayed whole."
	case fenced == 0:
		return "Without a fence, the store took the stale writes."
	case !complete:
		return "Of the runs that could be judged, only those on a store that checks fencing tokens kept their data whole."
	}
	return "Only a store that checks fencing tokens keeps the data whole."
}

// earlySentence speaks of transactions that were committed behind their lock.
func earlySentence(all []reports.Scenario) string {
	n := 0
	for _, x := range all {
		if releasedEarly(x) {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return "In " + phrase.Plural(n, "run") + " the lock was released before the commit, and the next holder read what was old: no lock prevents that."
}

// guardSentence speaks of the application that asked the lock first, where the
// run has one and it did not help.
func guardSentence(all []reports.Scenario) string {
	found := false
	for _, x := range all {
		if x.Strike == reports.FreezesAfterCheck && x.Judged() {
			if x.Result() != reports.Corrupted {
				return ""
			}
			found = true
		}
	}
	if !found {
		return ""
	}
	return "Asking the lock right before the write does not help: a freeze fits in between."
}
