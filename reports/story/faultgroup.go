package story

import (
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// faultGroup is the judged scenarios under one sort of fault. It is partial when the suite
// has others under it that say nothing: then no sentence may speak of every lock.
type faultGroup struct {
	strike  reports.Strike
	faults  []string // the columns of the matrix that are in it; of an OtherStrike one
	runs    []reports.Scenario
	partial bool
}

// takes reports whether a scenario is of the family. Of one whose shard is missing only the column
// is known.
func (f *faultGroup) takes(x reports.Scenario) bool {
	return x.Strike != reports.OtherStrike && f.strike == strikeOf(x) || slices.Contains(f.faults, x.Fault)
}

// strikeOf is the scenario's strike; what the holder asked before it is frozen makes no difference.
func strikeOf(x reports.Scenario) reports.Strike {
	if x.Strike == reports.FreezesAfterCheck {
		return reports.FreezesHolder
	}
	return x.Strike
}

// faultGroups groups the judged scenarios with a fault by what the fault does.
func faultGroups(s reports.Suite) []faultGroup {
	var out []faultGroup
	for _, x := range s.Scenarios {
		if undisturbed(x) {
			continue
		}
		i := slices.IndexFunc(out, func(f faultGroup) bool { return f.takes(x) })
		if i < 0 {
			out = append(out, faultGroup{strike: strikeOf(x)})
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
func (f faultGroup) sentence() string {
	text := f.lockedIn()
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
	return text + " Yet writes that came too late corrupted the data of " + nameLocks(harmed, len(harmed)) + "."
}

// lockedIn says which locks let two clients in under the fault.
func (f faultGroup) lockedIn() string {
	always, sometimes, never := f.locks()
	of := len(always) + len(sometimes) + len(never)
	when := " in " + f.underWhat() + "."
	switch {
	case of == 0:
		return ""
	case len(never) == of:
		return f.noneHeld(never) + when
	case len(always) == of && of > 1 && !f.partial:
		return "Every lock lets two clients" + when
	case len(always) == 1:
		return always[0] + " lets two clients" + when + atTimes(sometimes) + nameOthers(never)
	case len(always) > 1:
		return nameLocks(always, of) + " let two clients" + strings.Replace(when, "its holder", "their holder", 1) +
			atTimes(sometimes) + nameOthers(never)
	}
	return "Some runs of " + nameLocks(sometimes, of) + " let two clients" + when + nameOthers(never)
}

// noneHeld says that no lock let a second client in, or of which locks that is known.
func (f faultGroup) noneHeld(never []string) string {
	switch {
	case !f.partial:
		return "No lock let two clients"
	case len(never) > fewNames:
		return "None of the " + phrase.Grouped(len(never)) + " locks that could be judged let a second client"
	}
	return phrase.List(never) + " let no second client"
}

// locks are those that let two clients in in all of their runs, in some, and in none.
func (f faultGroup) locks() (always, sometimes, never []string) {
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

func nameLocks(locks []string, of int) string {
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

func nameOthers(never []string) string {
	if len(never) == 0 {
		return ""
	}
	if len(never) > fewNames {
		return " " + phrase.Grouped(len(never)) + " others do not."
	}
	if len(never) == 1 {
		return " " + never[0] + " does not."
	}
	return " " + phrase.List(never) + " do not."
}

// underWhat says under what; "past its lease" only where the verdicts say that every
// double-hold kept is a lease-overrun.
func (f faultGroup) underWhat() string {
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
