//go:build linux

package locktest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/checker/witness"
	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/page"
	"github.com/lockchaos/lockchaos/reports/story"
	"github.com/lockchaos/lockchaos/scenarios"
)

// judge judges what was recorded, and writes the report.
func (r *run) judge() (reports.Scenario, []scenarios.Compared) {
	r.t.Helper()
	h, err := history.ReadFile(filepath.Join(r.dir, historyFile))
	if r.failed == nil {
		r.failed = err
	}
	sc := r.scenario()
	if err == nil {
		sc.History, sc.StandIns = h, h.Header.StandIns
		sc.Verdict = checker.Judge(h, checker.Options{Keep: reports.KeptViolations, KeepDefects: true})
		sc.Note(h)
	}
	compared := r.compare(&sc)
	if err := page.WriteFolder(r.dir, sc); err != nil {
		r.t.Error(shown("locktest: %v", err))
	}
	return sc, compared
}

// tell makes a subtest of each property.
func (r *run) tell(sc reports.Scenario, compared []scenarios.Compared) {
	t := r.t
	t.Helper()
	for _, text := range sc.StandIns {
		t.Log(shown("STAND-IN: %s", text))
	}
	r.races()
	if r.failed != nil {
		t.Fatal(shown("locktest: the run failed, which says nothing about the lock: %s%s\nlogs: %s%s",
			harmless.Block(r.failed.Error(), ""), harmless.Block(r.hint(), ""), filepath.Join(r.dir, logFolder), harmless.Safe(r.again())))
	}
	t.Logf("%s · seed %d", story.Summary(sc), r.plan.Seed)
	if r.given.attack() {
		r.tellFate(sc, compared)
		return
	}
	for _, i := range inOrder(sc.Verdict.Properties, compared) {
		p := sc.Verdict.Properties[i]
		t.Run(p.Name, func(t *testing.T) { property(t, sc, p, compared[i]) })
	}
	if e := r.plan.Scenario.Expect.Severity; e != "" && sc.Verdict.Severity.String() != e {
		t.Errorf("severity is %s, and %s is expected", sc.Verdict.Severity, e)
	}
	if !sc.Met && !t.Failed() {
		t.Error(shown("%s: %s", sc.Verdict.Outcome, strings.Join(sc.Verdict.Reasons, " ")))
	}
	if t.Failed() {
		t.Log(shown("report: %s%s", filepath.Join(r.dir, reports.PageFile), harmless.Safe(r.again())))
	}
}

// inOrder returns the places of the properties in the order in which they are told: what is not expected first, and of that the defects.
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

// scenario is what the report says of the run.
func (r *run) scenario() reports.Scenario {
	s := r.plan.Scenario
	out := reports.Scenario{Name: s.Name, Lock: s.Lock, Service: r.given.Service, Fault: r.given.faultName(), Store: s.Store.Kind, About: s.About, Why: s.Expect.Why, Dir: ".",
		Seed: r.plan.Seed, Elapsed: r.elapsed, Runtime: "private network, " + hosts.Kernel(), Rerun: r.command()}
	if r.failed != nil {
		out.Failed = r.failed.Error()
	}
	return out
}

// expects tells whether the scenario says how it is to come out; else the properties alone decide.
func (r *run) expects() bool {
	e := r.plan.Scenario.Expect
	return r.given.Inherent || len(e.Properties) > 0 || e.Severity != ""
}

// compare sets each property beside what is expected of it.
func (r *run) compare(sc *reports.Scenario) []scenarios.Compared {
	var seen []scenarios.Observed
	for _, p := range sc.Verdict.Properties {
		seen = append(seen, scenarios.Observed{Property: p.Name, Outcome: p.Outcome.String(), Kinds: p.KindsFound()})
	}
	sc.Relied = r.plan.Scenario.Expect.Relied
	all := r.plan.Scenario.Expect.Compare(seen, sc.Verdict.Severity.String())
	sc.Met = sc.Verdict.Outcome == checker.Pass
	if r.expects() {
		sc.Met = r.plan.Scenario.Expect.Met(all, sc.Verdict.Outcome.String())
		for _, c := range all {
			sc.Expect = append(sc.Expect, reports.Expectation{Property: c.Property, Want: c.Want, Got: c.Got, Met: c.Met})
		}
		if r.given.attack() {
			sc.HoldUnclear()
		}
		for i := range all { // what is told goes by it, too
			all[i].Met = sc.Expect[i].Met
		}
	}
	return all
}

// property is the subtest of one property.
func property(t *testing.T, sc reports.Scenario, p checker.PropertyResult, c scenarios.Compared) {
	switch {
	case !c.Met && p.Outcome == checker.Violated:
		t.Error(shown("violated %s, and %s is expected\n%s", sc.Times(p.Name), c.Want, harmless.Block(smallest(sc.History, p), "")))
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

// smallest tells the violation of a property to tell first, by the smallest part of the history that shows it.
func smallest(h *history.History, p checker.PropertyResult) string {
	v := p.First()
	w, err := witness.Smallest(h, *v, checker.Options{Keep: reports.KeptViolations})
	if err != nil {
		return v.Text + "\n"
	}
	var text bytes.Buffer
	story.TellWitness(&text, w, v, len(h.Events))
	return text.String()
}

// again says how to run it again.
func (r *run) again() string { return "\nagain: " + r.command() }

// command runs the test again with the same seed.
func (r *run) command() string {
	race := ""
	if raceEnabled {
		race = " -race"
	}
	return fmt.Sprintf("%s=%d go test%s -count=1 -run '%s'", seedVar, r.plan.Seed, race, exactly(r.t.Name()))
}

// hint is what most often keeps a client from its work.
func (r *run) hint() string {
	for _, end := range crashes {
		if file, text := r.logged(end); file != "" {
			return fmt.Sprintf("\n%s: %s", file, text)
		}
	}
	if strings.Contains(r.failed.Error(), "client ") {
		return fmt.Sprintf("\nA client is this test binary, run again with -test.run='%s': it must come to the same call of locktest.Run, whatever it finds in its environment.", exactly(r.t.Name()))
	}
	return ""
}

// races fails the test where a client's race detector has found something: its own exit status is nobody's.
func (r *run) races() {
	r.t.Helper()
	if file, text := r.logged("WARNING: DATA RACE"); file != "" {
		r.t.Error(shown("locktest: a data race in a client of the lock:\n%s\nits log: %s", harmless.Block(text, ""), file))
	}
}

// logged finds a line in the clients' logs that begins so, and what follows it. file is "" if there is none.
func (r *run) logged(beginning string) (file, text string) {
	logs, _ := filepath.Glob(filepath.Join(r.dir, logFolder, "client-*.log")) // the pattern is right
	for _, file := range logs {
		if text := loggedIn(file, beginning); text != "" {
			return file, text
		}
	}
	return "", ""
}

// loggedIn finds a line in a log that begins so, and what follows it; "" if there is none.
func loggedIn(file, beginning string) string {
	log, err := os.ReadFile(file)
	if i := bytes.Index(append([]byte("\n"), log...), []byte("\n"+beginning)); err == nil && i >= 0 {
		return firstLines(log[i:], 30)
	}
	return ""
}

// crashes are how Go begins to tell of a crash.
var crashes = []string{"panic: ", "fatal error: "}

// crashIn returns how a program has crashed, by its log; "" if it has not.
func crashIn(file string) string {
	for _, beginning := range crashes {
		if text := loggedIn(file, beginning); text != "" {
			return text
		}
	}
	return ""
}

// shown is text for the output of go test, which a CI runner reads: values that are not ours stay on their line, and no line is a command.
func shown(format string, args ...any) string {
	var text bytes.Buffer
	out := harmless.NewWriter(&text)
	harmless.Fprintf(out, format, args...)
	_ = out.Close() // into memory
	return text.String()
}

// firstLines is the beginning of a text.
func firstLines(text []byte, n int) string {
	lines := strings.SplitN(string(text), "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n")
}
