package story

import (
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
)

// jobRun is a run of a scheduler in which some properties are violated.
func jobRun(lock string, violated ...string) reports.Scenario {
	x := reports.Scenario{Name: lock + "/run", Lock: lock, Fault: "pause-holder", Strike: reports.FreezesHolder}
	x.Verdict.Outcome = checker.Pass
	add := func(name string, o checker.Outcome) {
		x.Verdict.Properties = append(x.Verdict.Properties, checker.PropertyResult{Name: name, Outcome: o, Count: 1})
	}
	for _, name := range violated {
		x.Verdict.Outcome = checker.Violated
		add(name, checker.Violated)
	}
	if x.Property(checker.OncePerTick) == nil {
		add(checker.OncePerTick, checker.Pass)
	}
	return x
}

// TestSuiteLedeOfJobs: schedulers are no locks, and let nobody in.
func TestSuiteLedeOfJobs(t *testing.T) {
	control := jobRun("broken", checker.OncePerTick)
	control.Control = true
	s := reports.Suite{Scenarios: []reports.Scenario{jobRun("good"), jobRun("good", checker.LostUpdate),
		jobRun("twice", checker.OncePerTick, checker.LostUpdate), jobRun("deaf"), jobRun("deaf", checker.MissedTick), control}}
	want := "In 2 scenarios twice and deaf showed 2 defects: ticks were executed twice and ticks were executed by nobody. " +
		"good executed each tick that was due, and had the effect of none twice. Writes that came too late corrupted the data of good: " +
		"a fence, or an effect that can be repeated, prevents that, and no schedule does."
	if got := SuiteLede(s); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}
