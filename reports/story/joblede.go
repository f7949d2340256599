package story

import (
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// ofJob reports whether a scenario's clients are instances of a scheduler.
func ofJob(x reports.Scenario) bool { return x.Property(checker.OncePerTick) != nil }

// jobSentences say what schedulers in use made of the ticks of their jobs. A defect of one is told
// as that of a lock is.
func jobSentences(all []reports.Scenario) (told []string) {
	which := func(so func(reports.Scenario) bool) (names []string) {
		for _, x := range all {
			name := phrase.Clip(x.Lock, phrase.MostName)
			if ofJob(x) && !x.Control && x.Judged() && so(x) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return names
	}
	right := func(x reports.Scenario) bool { return len(x.Defects()) == 0 }
	again := which(func(x reports.Scenario) bool { return right(x) && x.Violated(checker.OncePerTick) })
	late := which(func(x reports.Scenario) bool { return right(x) && x.Violated(checker.LostUpdate) })
	wrong := which(func(x reports.Scenario) bool { return !right(x) })
	whole := slices.DeleteFunc(which(func(x reports.Scenario) bool { return x.Result() == reports.Pass }),
		func(name string) bool { return slices.Contains(slices.Concat(again, wrong), name) })
	if len(whole) > 0 {
		told = append(told, phrase.List(whole)+" executed each tick that was due, and had the effect of none twice.")
	}
	if len(again) > 0 {
		told = append(told, phrase.List(again)+" executed ticks again that an instance had lost: who executes at least once must.")
	}
	if len(late) > 0 {
		told = append(told, "Writes that came too late corrupted the data of "+phrase.List(late)+
			": a fence, or an effect that can be repeated, prevents that, and no schedule does.")
	}
	return told
}
