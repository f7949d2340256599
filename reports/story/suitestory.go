package story

import (
	"fmt"
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
			text := phrase.Clip(x.Name, phrase.MostName) + " came to " + x.Result().String()
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
		told = append(told, phrase.Grouped(more)+" more came out otherwise, too")
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
	if text := quietSentence(quiet, len(families(s)) > 0); text != "" {
		out = append(out, text)
	}
	if reports.MostlyGaps(reports.Matrix(s)) {
		if text := sparseSentence(s.Scenarios); text != "" {
			out = append(out, text)
		}
		return strings.Join(append(out, rest...), " ")
	}
	for _, f := range families(s) {
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
	return []string{"In " + phrase.Plural(runs, "scenario") + " " + named(locks, len(locks)) + " showed " +
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
		return "Nothing was disturbed, and only what was expected was violated."
	case len(quiet) > 0 && !disturbed:
		return "Nothing was violated while nothing was disturbed. Without a fault that says little: locks break when something else breaks."
	}
	return ""
}

// family is the judged scenarios under one sort of fault. It is partial when the suite
// has others under it that say nothing: then no sentence may speak of every lock.
type family struct {
	strike  reports.Strike
	faults  []string // the columns of the matrix that are in it; of an OtherStrike one
	runs    []reports.Scenario
	partial bool
}

// takes reports whether a scenario is of the family. Of one whose shard is missing only the column
// is known.
func (f *family) takes(x reports.Scenario) bool {
	return x.Strike != reports.OtherStrike && f.strike == strikeOf(x) || slices.Contains(f.faults, x.Fault)
}

// strikeOf is the scenario's strike; what the holder asked before it is frozen makes no difference.
func strikeOf(x reports.Scenario) reports.Strike {
	if x.Strike == reports.FreezesAfterCheck {
		return reports.FreezesHolder
	}
	return x.Strike
}

// families groups the judged scenarios with a fault by what the fault does.
func families(s reports.Suite) []family {
	var out []family
	for _, x := range s.Scenarios {
		if undisturbed(x) {
			continue
		}
		i := slices.IndexFunc(out, func(f family) bool { return f.takes(x) })
		if i < 0 {
			out = append(out, family{strike: strikeOf(x)})
			i = len(out) - 1
		}
		if out[i].strike == reports.OtherStrike { // a scenario that says nothing came first
			out[i].strike = strikeOf(x)
		}
		if !slices.Contains(out[i].faults, x.Fault) {
			out[i].faults = append(out[i].faults, x.Fault)
		}
		if !x.Judged() {
			out[i].partial = true
			continue
		}
		out[i].runs = append(out[i].runs, x)
	}
	return out
}

// releasedEarly reports whether transactions that were committed behind the lock are what harmed a
// scenario.
func releasedEarly(x reports.Scenario) bool {
	if x.Violated(checker.MutualExclusion) {
		return false
	}
	for _, name := range []string{checker.LostUpdate, checker.StaleRead} {
		if p := x.Property(name); p != nil && slices.Contains(p.KindsFound(), checker.KindReleasedBeforeCommit) {
			return true
		}
	}
	return false
}

// sentence says which locks let two clients in under the fault, and whose data
// was corrupted all the same though they did not.
func (f family) sentence() string {
	text := f.held()
	var harmed []string
	for _, x := range f.runs {
		if name := phrase.Clip(x.Lock, phrase.MostName); x.Result() == reports.Corrupted &&
			!releasedEarly(x) && !x.Violated(checker.MutualExclusion) && !slices.Contains(harmed, name) {
			harmed = append(harmed, name)
		}
	}
	if len(harmed) == 0 {
		return text
	}
	return text + " Yet writes that came too late corrupted the data of " + named(harmed, len(harmed)) + "."
}

// held says which locks let two clients in under the fault.
func (f family) held() string {
	always, sometimes, never := f.locks()
	of := len(always) + len(sometimes) + len(never)
	when := " in " + f.when() + "."
	switch {
	case of == 0:
		return ""
	case len(never) == of:
		return f.noneHeld(never) + when
	case len(always) == of && of > 1 && !f.partial:
		return "Every lock lets two clients" + when
	case len(always) == 1:
		return always[0] + " lets two clients" + when + atTimes(sometimes) + others(never)
	case len(always) > 1:
		return named(always, of) + " let two clients" + strings.Replace(when, "its holder", "their holder", 1) +
			atTimes(sometimes) + others(never)
	}
	return "Some runs of " + named(sometimes, of) + " let two clients" + when + others(never)
}

// noneHeld says that no lock let a second client in, or of which locks that is known.
func (f family) noneHeld(never []string) string {
	switch {
	case !f.partial:
		return "No lock let two clients"
	case len(never) > fewNames:
		return "None of the " + phrase.Grouped(len(never)) + " locks that could be judged let a second client"
	}
	return phrase.List(never) + " let no second client"
}

// locks are those that let two clients in in all of their runs, in some, and in none.
func (f family) locks() (always, sometimes, never []string) {
	runs := map[string][]reports.Scenario{}
	var order []string
	for _, x := range f.runs {
		name := phrase.Clip(x.Lock, phrase.MostName)
		if runs[name] == nil {
			order = append(order, name)
		}
		runs[name] = append(runs[name], x)
	}
	for _, name := range order {
		switch number(runs[name], func(x reports.Scenario) bool { return x.Violated(checker.MutualExclusion) }) {
		case len(runs[name]):
			always = append(always, name)
		case 0:
			never = append(never, name)
		default:
			sometimes = append(sometimes, name)
		}
	}
	return always, sometimes, never
}

// fewNames is how many locks a sentence names; of more it says how many.
const fewNames = 5

func named(locks []string, of int) string {
	if len(locks) <= fewNames {
		return phrase.List(locks)
	}
	return phrase.Grouped(len(locks)) + " of " + phrase.Plural(of, "lock")
}

// atTimes names the locks that let two clients in in some of their runs.
func atTimes(sometimes []string) string {
	if len(sometimes) == 0 {
		return ""
	}
	if len(sometimes) > fewNames {
		return " Some runs of " + phrase.Grouped(len(sometimes)) + " others do so too."
	}
	return " Some runs of " + phrase.List(sometimes) + " do so too."
}

func others(never []string) string {
	if len(never) == 0 {
		return ""
	}
	if len(never) > fewNames {
		return " Not so " + phrase.Grouped(len(never)) + " others."
	}
	return " Not so " + phrase.List(never) + "."
}

// when says under what; "past its lease" only where the verdicts say that every
// double-hold kept is a lease-overrun.
func (f family) when() string {
	switch f.strike {
	case reports.FreezesHolder:
	case reports.FreezesNodes:
		return "when nodes of the lock service are frozen"
	case reports.KillsHolder:
		return "when its holder is killed"
	default:
		return "under " + phrase.FaultTitle(f.faults[0])
	}
	for _, x := range f.runs {
		if x.Violated(checker.MutualExclusion) && !x.Overran() {
			return "when its holder is frozen"
		}
	}
	return "when its holder is frozen past its lease"
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

// fateVerbs say in the headline what attacks of a fate did.
var fateVerbs = [...]string{reports.FellUnclear: "fell, and it is not clear why",
	reports.FellRelied:     "broke what it relies on: a clock, or the memory of its service",
	reports.FellInherent:   "fell to what no lease prevents; a fence would contain that",
	reports.NothingFollows: "inconclusive", reports.NotRun: "not run"}

// examHeadline says what the exam has shown: the defects first, and what is inherent after them.
func examHeadline(s reports.Suite) string {
	parts := []string{phrase.Plural(len(s.Scenarios), "attack")}
	if n := len(s.Exam.Left); n > 0 {
		parts[0] = fmt.Sprintf("%s of %s", phrase.Grouped(len(s.Scenarios)),
			phrase.Plural(len(s.Scenarios)+n, "attack"))
	}
	defects := s.AllDefects()
	if len(defects) > 0 {
		parts = append(parts, phrase.Plural(len(defects), "defect")+": "+strings.Join(defects, "; "))
	} else {
		parts = append(parts, "No defect")
	}
	for f := reports.FellDefect + 1; f < reports.Stood; f++ {
		if n := len(s.ByFate(f)); n > 0 {
			parts = append(parts, phrase.Grouped(n)+" "+fateVerbs[f])
		}
	}
	if n := len(s.Exam.Left); n > 0 {
		parts = append(parts, phrase.Grouped(n)+" left out by --budget")
	}
	if n := len(s.Exam.Not); n > 0 {
		parts = append(parts, phrase.Grouped(n)+" not applicable")
	}
	return strings.Join(parts, ". ")
}

// examLede says which attacks showed the defects, and what a lock that stood is worth.
func examLede(s reports.Suite) string {
	var out []string
	defects, mended := s.ExamDefects(), s.Exam.Mended
	first := 0 // the defect that may hide the others
	if mended != nil {
		first = slices.Index(defects, reports.DefectWords(mended.Defect))
	}
	for i, word := range defects {
		var by []string
		for _, x := range s.ShownBy(word) {
			by = append(by, phrase.Clip(x.Fault, phrase.MostName))
		}
		text := word + ": shown by " + phrase.List(by)
		if i != first && first >= 0 && s.HidesBehind(word, defects[first]) {
			text += mended.Behind(word)
		}
		out = append(out, phrase.Sentence(text))
		if i == first && mended != nil {
			out = append(out, phrase.Sentence(phrase.Clip(mended.String(), phrase.MostText)))
		}
	}
	if bites := s.Withstood(); bites > 0 {
		_, high := checker.Wilson(0, int64(bites))
		out = append(out, fmt.Sprintf("In the attacks that it stood, %s struck and none broke it: it breaks under fewer than %.1f %% of such faults (95 %% confidence).",
			phrase.Plural(bites, "fault"), 100*high))
	}
	if len(s.Exam.Left) > 0 {
		out = append(out, fmt.Sprintf("All this is of the attacks that were made within --budget %v, the most telling ones.", s.Exam.Budget))
	}
	if s.Exam.Short {
		out = append(out, "Only the most telling attacks were made.")
	}
	return strings.Join(out, " ")
}
