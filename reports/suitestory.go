package reports

import (
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
)

// headline says in a sentence how the suite came out.
func (s Suite) headline() string {
	if s.Exam != nil && len(s.Scenarios) > 0 {
		return s.examHeadline()
	}
	n := s.tally()
	all := len(s.Scenarios)
	if all == 0 {
		return "No scenario was run"
	}
	expecting := slices.ContainsFunc(s.Scenarios, func(x Scenario) bool { return len(x.Expect) > 0 })
	unexpected, ran := 0, all-n[Skipped]-n[Failed]
	for _, x := range s.Scenarios {
		if x.unexpected() {
			unexpected++
		}
	}
	var parts []string
	switch {
	case ran == 0:
	case !expecting:
		for _, r := range []Result{Corrupted, Violated, Contained, Inconclusive, Pass} {
			if n[r] > 0 {
				parts = append(parts, grouped(n[r])+" "+r.String())
			}
		}
	case unexpected > 0:
		verb := " did not come out as expected"
		if unexpected == all {
			return plural(all, "scenario") + ", none as expected"
		}
		parts = append(parts, grouped(unexpected)+verb)
	case ran == all:
		parts = append(parts, "all as expected")
		if all == 1 {
			parts[0] = "as expected"
		}
	default:
		parts = append(parts, grouped(ran)+" as expected")
	}
	if n[Failed] > 0 {
		parts = append(parts, grouped(n[Failed])+" failed to run")
	}
	if n[Skipped] > 0 {
		parts = append(parts, grouped(n[Skipped])+" skipped")
	}
	return plural(all, "scenario") + ", " + strings.Join(parts, ", ")
}

// tally counts the scenarios by result.
func (s Suite) tally() [Failed + 1]int {
	var n [Failed + 1]int
	for _, x := range s.Scenarios {
		n[x.Result()]++
	}
	return n
}

// namedUnexpected is how many scenarios a lede names that came out otherwise than expected.
const namedUnexpected = 2

// unexpectedSentence tells first what was not expected. That a run merely shows too little for a pass is told by undecided.
func (s Suite) unexpectedSentence() []string {
	var told []string
	all := 0
	for _, x := range s.Scenarios {
		if !x.unexpected() || x.tooLittle() {
			continue
		}
		if all++; all <= namedUnexpected {
			text := clip(x.Name, clipName) + " came to " + x.Result().String()
			if d := x.Detail(); d != "" {
				text += " (" + strings.TrimSuffix(oneLine(d), ".") + ")"
			}
			told = append(told, text)
		}
	}
	if all == 0 {
		return nil
	}
	if more := all - len(told); more > 0 {
		told = append(told, grouped(more)+" more came out otherwise, too")
	}
	return []string{"Not expected: " + strings.Join(told, "; ") + "."}
}

// lede tells what the results show together. Each sentence is said only when every scenario that it speaks of agrees; where
// they differ it names those that do.
func (s Suite) lede() string {
	if s.Exam != nil {
		return s.examLede()
	}
	out := append(s.unexpectedSentence(), s.defectSentence()...)
	var quiet, held []Scenario
	for _, x := range s.Scenarios {
		if !x.judged() {
			continue
		}
		if x.quiet() {
			quiet = append(quiet, x)
		}
		if x.violated(checker.MutualExclusion) {
			held = append(held, x)
		}
	}
	if text := quietSentence(quiet, len(s.families()) > 0); text != "" {
		out = append(out, text)
	}
	if sparse(matrix(s)) {
		if text := sparseSentence(s.Scenarios); text != "" {
			out = append(out, text)
		}
		return strings.Join(append(out, s.undecided()...), " ")
	}
	for _, f := range s.families() {
		if text := f.sentence(); text != "" {
			out = append(out, text)
		}
	}
	if text := storeSentence(held, !slices.ContainsFunc(s.Scenarios, func(x Scenario) bool { return !x.judged() })); text != "" {
		out = append(out, text)
	}
	if text := guardSentence(s.Scenarios); text != "" {
		out = append(out, text)
	}
	return strings.Join(append(out, s.undecided()...), " ")
}

// defectSentence names the locks in use that showed a defect that nobody expected, and how; then what no lease prevents in the same scenarios.
func (s Suite) defectSentence() []string {
	var locks, words []string
	var over amount
	runs := 0
	for _, x := range s.Scenarios {
		all := x.defects()
		if x.Control || !x.judged() || len(all) == 0 || len(x.Expect) > 0 && x.Met {
			continue
		}
		runs++
		these := x.overruns()
		over.n, over.least = over.n+these.n, over.least || these.least
		if name := clip(x.Lock, clipName); !slices.Contains(locks, name) {
			locks = append(locks, name)
		}
		for _, d := range all {
			if !slices.Contains(words, d.words()) {
				words = append(words, d.words())
			}
		}
	}
	if runs == 0 {
		return nil
	}
	return []string{"In " + plural(runs, "scenario") + " " + named(locks, len(locks)) + " showed " + plural(len(words), "defect") + ": " + list(words) + besideOverruns(over) + "."}
}

// undecided are the sentences about scenarios that prove nothing, or too little, if there are any.
func (s Suite) undecided() (told []string) {
	little := 0
	for _, x := range s.Scenarios {
		if x.tooLittle() {
			little++
		}
	}
	switch little {
	case 0:
	case 1:
		told = append(told, "One scenario shows what was expected, and too little of the rest for a pass.")
	default:
		told = append(told, plural(little, "scenario")+" show what was expected, and too little of the rest for a pass.")
	}
	switch n := s.tally()[Inconclusive]; n {
	case 0:
		return told
	case 1:
		return append(told, "One scenario proves nothing either way.")
	default:
		return append(told, plural(n, "scenario")+" prove nothing either way.")
	}
}

func isQuiet(fault string) bool { return fault == "" || fault == "none" }

// quiet tells whether the plan disturbed nothing.
func (s Scenario) quiet() bool { return s.Undisturbed || isQuiet(s.Fault) }

// quietSentence speaks of the runs that nothing disturbed.
func quietSentence(quiet []Scenario, disturbed bool) string {
	var wrong []string
	for _, x := range quiet {
		if x.Result() != Pass && (x.unexpected() || len(x.Expect) == 0 || x.violated(checker.MutualExclusion)) && !slices.Contains(wrong, clip(x.Lock, clipName)) {
			wrong = append(wrong, clip(x.Lock, clipName))
		}
	}
	switch {
	case len(wrong) > 0:
		return list(wrong) + " fell even though nothing was disturbed."
	case len(quiet) > 0 && !disturbed:
		return "Nothing was violated while nothing was disturbed. Without a fault that says little: locks break when something else breaks."
	}
	return ""
}

// family is the judged scenarios under one sort of fault. It is partial when the suite has others under it that say nothing:
// then no sentence may speak of every lock.
type family struct {
	fault   string
	runs    []Scenario
	partial bool
}

// The families of all faults that freeze a client that holds the lock, and of all that freeze nodes of the lock service.
const (
	familyPause      = "freezes-holder"
	familyPauseNodes = "freezes-nodes"
)

// notNodes are parts of a fault's name that tell that it does not freeze nodes alone: other clients, or more than one fault.
var notNodes = []string{"next-waiter", "random-client", "all-clients", "-then-", "-and-"}

// familyOf is the family of a planned fault, by its kind and target.
func familyOf(fault string) string {
	switch {
	case fault == "pause-holder" || fault == "pause-after-check":
		return familyPause
	case strings.HasPrefix(fault, "pause-") && !slices.ContainsFunc(notNodes, func(word string) bool { return strings.Contains(fault, word) }):
		return familyPauseNodes
	}
	return fault
}

// families groups the judged scenarios with a fault by its family.
func (s Suite) families() []family {
	var out []family
	for _, x := range s.Scenarios {
		if x.quiet() {
			continue
		}
		sort := familyOf(x.Fault)
		i := slices.IndexFunc(out, func(f family) bool { return f.fault == sort })
		if i < 0 {
			out = append(out, family{fault: sort})
			i = len(out) - 1
		}
		if !x.judged() {
			out[i].partial = true
			continue
		}
		out[i].runs = append(out[i].runs, x)
	}
	return out
}

// sentence says which locks let two clients in under the fault, and whose data was corrupted all the same though they did not.
func (f family) sentence() string {
	text := f.held()
	var harmed []string
	for _, x := range f.runs {
		if name := clip(x.Lock, clipName); x.Result() == Corrupted && !x.violated(checker.MutualExclusion) && !slices.Contains(harmed, name) {
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
	var locks, always, sometimes, never []string
	for _, x := range f.runs {
		name := clip(x.Lock, clipName)
		if slices.Contains(locks, name) {
			continue
		}
		locks = append(locks, name)
		hits, all := 0, 0
		for _, y := range f.runs {
			if y.Lock == x.Lock {
				all++
				if y.violated(checker.MutualExclusion) {
					hits++
				}
			}
		}
		if hits == all {
			always = append(always, name)
		} else if hits == 0 {
			never = append(never, name)
		} else {
			sometimes = append(sometimes, name)
		}
	}
	when := f.when()
	switch {
	case len(locks) == 0:
		return ""
	case len(always) == len(locks) && len(locks) > 1 && !f.partial:
		return "Every lock lets two clients in " + when + "."
	case len(never) == len(locks) && f.partial && len(never) > fewNames:
		return "None of the " + grouped(len(never)) + " locks that could be judged let a second client in " + when + "."
	case len(never) == len(locks) && f.partial:
		return list(never) + " let no second client in " + when + "."
	case len(never) == len(locks):
		return "No lock let two clients in " + when + "."
	case len(always) == 1:
		return always[0] + " lets two clients in " + when + "." + atTimes(sometimes) + others(never)
	case len(always) > 1:
		return named(always, len(locks)) + " let two clients in " + strings.Replace(when, "its holder", "their holder", 1) + "." + atTimes(sometimes) + others(never)
	}
	return "Some runs of " + named(sometimes, len(locks)) + " let two clients in " + when + "." + others(never)
}

// fewNames is how many locks a sentence names; of more it says how many.
const fewNames = 5

func named(locks []string, of int) string {
	if len(locks) <= fewNames {
		return list(locks)
	}
	return grouped(len(locks)) + " of " + plural(of, "lock")
}

// atTimes names the locks that let two clients in in some of their runs.
func atTimes(sometimes []string) string {
	if len(sometimes) == 0 {
		return ""
	}
	if len(sometimes) > fewNames {
		return " Some runs of " + grouped(len(sometimes)) + " others do so too."
	}
	return " Some runs of " + list(sometimes) + " do so too."
}

func others(never []string) string {
	if len(never) == 0 {
		return ""
	}
	if len(never) > fewNames {
		return " Not so " + grouped(len(never)) + " others."
	}
	return " Not so " + list(never) + "."
}

// when says under what; "past its lease" only where the verdicts say that every double-hold kept is a lease-overrun.
func (f family) when() string {
	switch f.fault {
	case familyPause:
	case familyPauseNodes:
		return "when nodes of the lock service are frozen"
	case "kill-holder":
		return "when its holder is killed"
	default:
		return "under " + faultTitle(f.fault)
	}
	for _, x := range f.runs {
		if x.violated(checker.MutualExclusion) && !x.overran() {
			return "when its holder is frozen"
		}
	}
	return "when its holder is frozen past its lease"
}

// storeSentence says what the double-holds did to the data; complete tells that every scenario of the suite has been judged.
func storeSentence(held []Scenario, complete bool) string {
	var fenced, unfenced, broken []Scenario
	corrupted := 0
	for _, x := range held {
		if x.Result() == Corrupted {
			corrupted++
		}
		if x.Store == "fenced" {
			fenced = append(fenced, x)
			if x.Result() == Corrupted {
				broken = append(broken, x)
			}
		} else {
			unfenced = append(unfenced, x)
		}
	}
	all := func(in []Scenario, r Result) bool {
		return !slices.ContainsFunc(in, func(x Scenario) bool { return x.Result() != r })
	}
	switch {
	case len(held) == 0:
		return ""
	case len(broken) > 0:
		var names []string
		for _, x := range broken {
			names = append(names, clip(x.Name, clipName))
		}
		return "Even the fenced store took stale writes in " + list(names) + "."
	case len(fenced) > 0 && len(unfenced) > 0 && all(fenced, Contained) && all(unfenced, Corrupted) && !complete:
		return "Of the runs that could be judged, only those on a store that checks fencing tokens kept their data whole."
	case len(fenced) > 0 && len(unfenced) > 0 && all(fenced, Contained) && all(unfenced, Corrupted):
		return "Only a store that checks fencing tokens keeps the data whole."
	case len(fenced) > 0 && len(unfenced) == 0 && all(fenced, Contained):
		return "The store refused every stale write, and the data stayed whole."
	case len(unfenced) > 0 && len(fenced) == 0 && all(unfenced, Corrupted):
		return "Without a fence, the store took the stale writes."
	}
	return grouped(corrupted) + " of " + grouped(len(held)) + " such runs corrupted the data."
}

// guardSentence speaks of the application that asked the lock first, where the run has one and it did not help.
func guardSentence(all []Scenario) string {
	found := false
	for _, x := range all {
		if x.Fault == "pause-after-check" && x.judged() {
			if x.Result() != Corrupted {
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
