//go:build !wasip1

package locktest

import (
	"bytes"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/checker/witness"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/story"
	"github.com/lockchaos/lockchaos/scenarios"
)

// tell makes a subtest of each property.
func (r *run) tell(sc reports.Scenario) {
	t := r.t
	t.Helper()
	if sc.Skipped != "" {
		missing(t, fmt.Sprintf("%s was not run: %s", sc.Name, sc.Skipped))
	}
	for _, text := range sc.StandIns {
		t.Log(shown("STAND-IN: %s", text))
	}
	r.races()
	if sc.Failed != "" {
		t.Fatal(shown("locktest: the run failed, which says nothing about the lock: %s%s\nlogs: %s\nagain: %s",
			harmless.Block(sc.Failed, ""), harmless.Block(r.hint(sc.Failed), ""),
			filepath.Join(r.dir, reports.LogFolder), harmless.Safe(r.command())))
	}
	t.Logf("%s · seed %d", story.Summary(sc), r.plan.Seed)
	if r.given.attack() {
		r.tellFate(sc)
	} else {
		r.tellProperties(sc)
	}
	if t.Failed() {
		t.Log(shown("report: %s\nagain: %s", filepath.Join(r.dir, runs.ReportFile), harmless.Safe(r.command())))
	}
}

func (r *run) tellProperties(sc reports.Scenario) {
	t := r.t
	t.Helper()
	compared := r.compared(sc)
	for _, i := range inOrder(sc.Verdict.Properties, compared) {
		p := sc.Verdict.Properties[i]
		t.Run(p.Name, func(t *testing.T) { r.property(t, sc, p, compared[i]) })
	}
	if e := r.plan.Scenario.Expect.Severity; e != "" && sc.Verdict.Severity.String() != e {
		t.Errorf("severity is %s, and %s is expected", sc.Verdict.Severity, e)
	}
	if !sc.Met && !t.Failed() {
		t.Error(shown("%s: %s", sc.Verdict.Outcome, strings.Join(sc.Verdict.Reasons, " ")))
	}
}

// compared sets each property beside what is expected of it.
func (r *run) compared(sc reports.Scenario) []scenarios.Compared {
	all := runs.Compare(sc.Verdict, r.plan.Scenario.Expect)
	for i, e := range sc.Expect { // of an attack, what is not clear does not count as met
		all[i].Met = e.Met
	}
	return all
}

// inOrder returns the places of the properties in the order in which they are
// told: what is not expected first, and of that the defects.
func inOrder(all []checker.PropertyResult, compared []scenarios.Compared) []int {
	order := make([]int, len(all))
	for i := range all {
		order[i] = i
	}
	weight := func(i int) int {
		if compared[i].Met || all[i].Outcome != checker.Violated {
			return int(checker.Harm) + 1
		}
		return int(all[i].Blame())
	}
	slices.SortStableFunc(order, func(a, b int) int { return weight(a) - weight(b) })
	return order
}

// property is the subtest of one property.
func (r *run) property(t *testing.T, sc reports.Scenario, p checker.PropertyResult, c scenarios.Compared) {
	switch {
	case !c.Met && p.Outcome == checker.Violated:
		t.Error(shown("violated %s, and %s is expected\n%s", sc.Times(p.Name), c.Want,
			harmless.Block(r.smallest(p), "")))
	case !c.Met && p.Outcome == checker.Inconclusive:
		t.Error(shown("inconclusive: %s", p.Why))
	case !c.Met:
		t.Errorf("%s, and %s is expected", p.Outcome, c.Want)
	case c.Inherent:
		t.Log(shown("violated %s (%s): %s", sc.Times(p.Name), scenarios.InherentWords, p.First().Text))
	case p.Outcome == checker.Violated:
		t.Log(shown("violated %s, which is expected (%s): %s", sc.Times(p.Name), c.Want, p.First().Text))
	case p.Outcome == checker.Pass:
		if p.Why != "" {
			t.Log(shown("%s", p.Why))
		}
	default:
		t.Skip(shown("%s: %s", p.Outcome, p.Why))
	}
}

// smallest tells the violation of a property to tell first, by the smallest
// part of the history that shows it.
func (r *run) smallest(p checker.PropertyResult) string {
	v := p.First()
	h, _, err := runs.ReadHistory(r.dir, "")
	if err != nil {
		return v.Text + "\n"
	}
	w, err := witness.Smallest(h, *v, checker.Options{Keep: reports.KeptViolations})
	if err != nil {
		return v.Text + "\n"
	}
	var text bytes.Buffer
	story.TellWitness(&text, w, v, len(h.Events))
	return text.String()
}

// command runs the test again with the same seed.
func (r *run) command() string {
	race := ""
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings,
		debug.BuildSetting{Key: "-race", Value: "true"}) {
		race = " -race"
	}
	return fmt.Sprintf("%s=%d go test%s -count=1 -run '%s'", seedVar, r.plan.Seed, race, exactly(r.t.Name()))
}

// hint is what most often keeps a client from its work, where the run failed so.
func (r *run) hint(failed string) string {
	if file, text := r.logged(runs.Crash); file != "" {
		return fmt.Sprintf("\n%s: %s", file, text)
	}
	if strings.Contains(failed, "client ") {
		return fmt.Sprintf("\nA client is this test, run again with -test.run='%s': it must come to the same call of locktest, whatever it finds in its environment.", exactly(r.t.Name()))
	}
	return ""
}

// races fails the test where a client's race detector has found something:
// nothing reads its exit status.
func (r *run) races() {
	r.t.Helper()
	if file, text := r.logged(func(log string) string { return runs.LogExcerpt(log, "WARNING: DATA RACE") }); file != "" {
		r.t.Error(shown("locktest: a data race in a client of the lock:\n%s\nits log: %s", harmless.Block(text, ""),
			file))
	}
}

// logged returns the first log of a client in which find finds something, and
// that. file is "" if there is none.
func (r *run) logged(find func(log string) string) (file, text string) {
	// the pattern is right
	logs, _ := filepath.Glob(filepath.Join(r.dir, reports.LogFolder, "client-*.log"))
	for _, file := range logs {
		if text := find(file); text != "" {
			return file, text
		}
	}
	return "", ""
}

// shown is text for the output of go test, which a CI runner reads: values that
// are not ours stay on their line, and no line is a command.
func shown(format string, args ...any) string {
	var text bytes.Buffer
	out := harmless.NewWriter(&text)
	harmless.Fprintf(out, format, args...)
	_ = out.Close() // into memory
	return text.String()
}
