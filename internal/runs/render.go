package runs

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/outside"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/ci"
	"github.com/lockchaos/lockchaos/reports/page"
	"github.com/lockchaos/lockchaos/scenarios"
	"golang.org/x/sync/errgroup"
)

// Judged is a scenario with its verdict, and the versions of its parts.
type Judged struct {
	reports.Scenario
	parts []history.Part
	// late: it is an attack for which no time was left.
	late bool
	// senseless: it is an attack that makes no sense against the lock, as its run has shown.
	senseless bool
}

// JudgeScenario reads a scenario's folder, judges its history and compares the
// verdict with what was expected. A harness that failed leaves what it had recorded:
// that is judged too, for a certain violation stands. The history itself is not kept.
func (t *Tool) JudgeScenario(dir string, r ScenarioRecord, run *Record) Judged {
	t = t.knowing(run.Test)
	folder := filepath.Join(dir, r.Dir)
	out := Judged{Scenario: reports.Scenario{Name: r.Name, Dir: r.Dir, Failed: r.Failed, Skipped: r.Skipped,
		Elapsed: r.Elapsed, Seed: run.Seed,
		// the whole run again, if nothing better is known
		Runtime: run.Runtime, Version: run.Version, File: r.File, Line: r.Line, Builtin: r.Builtin, Spoilt: r.Spoilt,
		Rerun: run.Command}}
	fail := func(err error) Judged {
		if out.Failed == "" { // what failed first says more
			out.Failed = err.Error()
		}
		return out
	}
	// it leaves open whatever is asked of it, and there is no plan of it
	if m := r.Missing; m != nil {
		out.Lock, out.Store, out.Fault, out.Demanded = m.Lock, m.Store, m.Fault, true
		return out
	}
	plan, err := scenarios.LoadPlanIn(dir, filepath.Join(r.Dir, PlanFile), t.Catalogue())
	if err != nil {
		return fail(err)
	}
	out.Seed = plan.Seed
	t.describe(&out.Scenario, plan, folder, run)
	out.Demanded, out.Lenient = r.rules(run.Policy)
	if r.Skipped != "" {
		out.late = r.Late && run.Exam != nil
		return out
	}
	h, _, err := ReadHistory(dir, r.Dir)
	if err != nil {
		return fail(err)
	}
	out.StandIns, out.parts = h.Header.StandIns, h.Header.Versions
	if n := len(h.Events); n > 0 {
		out.Length = h.Events[n-1].Time
	}
	out.Verdict = checker.Judge(h, checker.Options{Keep: reports.KeptViolations, KeepDefects: true})
	out.Note(h)
	if r.Cut != "" && h.Truncated { // the judge sees that it has no end, and not why
		out.Verdict.Reasons = slices.Insert(out.Verdict.Reasons, 0, "The run was cut: "+r.Cut+".")
	}
	expect := expected(h, plan.Scenario)
	out.Relied = expect.Relied
	switch {
	case out.Failed != "" && (run.Policy != nil || out.Verdict.Outcome != checker.Violated): // it came out not at all
	case run.Policy != nil:
		rule(&out.Scenario, run.Policy, plan.Scenario, run.Started)
	default:
		compare(&out.Scenario, expect, run.NoExpect, allowance(plan.Scenario, run))
		if run.Exam != nil {
			out.HoldUnclear()
			out.Skipped = unsent(plan.Scenario, out.Scenario)
			out.senseless = out.Skipped != ""
		}
		out.Met = out.Met && out.Failed == ""
	}
	return out
}

// Assess judges a history by what its scenario expects, as an exam does.
func Assess(h *history.History, s scenarios.Scenario) reports.Scenario {
	expect := expected(h, s)
	out := reports.Scenario{Name: s.Name, Lock: s.Lock, Fault: FaultColumn(s), Store: s.Store.Kind,
		Undisturbed: len(s.Faults) == 0, Relied: expect.Relied,
		Verdict: checker.Judge(h, checker.Options{Keep: reports.KeptViolations, KeepDefects: true})}
	compare(&out, expect, false, "")
	out.HoldUnclear()
	return out
}

// expected is what the scenario expects of its run. Failovers by which the service lost nothing, as
// it shows itself, excuse no lock.
func expected(h *history.History, s scenarios.Scenario) scenarios.Expect {
	if len(s.Expect.Relied) == 0 || !failsOver(s) {
		return s.Expect
	}
	kept, begun := 0, 0
	for i := range h.Events {
		switch f := h.Events[i].Fault; {
		case f == nil || f.Touches().Ends != history.EndsPrimary:
		case f.Phase == "begin":
			begun++
		case f.Bit && f.Kept:
			kept++
		}
	}
	if begun == 0 || kept < begun {
		return s.Expect
	}
	return s.Expect.Unbroken()
}

// failsOver reports whether all faults of the scenario are failovers.
func failsOver(s scenarios.Scenario) bool {
	return !slices.ContainsFunc(s.Faults, func(f scenarios.Fault) bool {
		return slices.ContainsFunc(f.Singles(), func(one scenarios.Fault) bool { return one.Spec().Touch().Ends != history.EndsPrimary })
	})
}

// compare sets what was found beside what was expected.
func compare(out *reports.Scenario, e scenarios.Expect, noExpect bool, by string) {
	out.Met = out.Verdict.Outcome == checker.Pass
	if noExpect {
		return
	}
	all := Compare(out.Verdict, e)
	for _, c := range all {
		out.Expect = append(out.Expect, reports.Expectation{Property: c.Property, Want: c.Want, Got: c.Got, Met: c.Met,
			Known: inherentWords(c, by)})
		if c.Inherent {
			out.Why = scenarios.InherentWords + by + ". " + e.Why
		}
	}
	out.Met = e.Met(all, out.Verdict.Outcome.String())
}

// allowance says, as the end of a sentence, who allows what no lease prevents.
func allowance(s scenarios.Scenario, run *Record) string {
	if s.Attack != "" || run.Test != nil {
		return ""
	}
	return allowedByFlag
}

// appStore stands in the column of the store where that is the application's own.
const appStore = "own"

// describe fills in what the plan says.
func (t *Tool) describe(out *reports.Scenario, plan *scenarios.Plan, folder string, run *Record) {
	s := plan.Scenario
	out.Lock, out.Store, out.About, out.Why = s.Lock, s.Store.Kind, s.About, s.Expect.Why
	out.Fault, out.Strike, out.Undisturbed = FaultColumn(s), strikeOf(s), len(s.Faults) == 0 && !s.Own()
	out.Unhindered = s.HoldsNobodyUp() && !s.Own()
	if s.Own() {
		out.Store, out.Service = appStore, strings.Join(s.App.Service, ", ")
	}
	out.Control = s.Store.Broken()
	if kind, err := t.KindOf(&s); err == nil && !s.Own() {
		out.Service = kind.Service
		out.Control = out.Control || kind.Control != ""
		if n := nodesOf(kind.Service); n > 1 {
			out.Service = fmt.Sprintf("%s ×%d", kind.Service, n)
		}
	}
	if run.Test == nil { // go test runs that again
		out.Rerun = t.rerunCommand(plan, folder, run)
	}
	out.Program = run.program()
	out.Recheck = reports.Shell(run.program(), "check", HistoryIn(folder))
}

// rerunCommand is the command that runs a scenario again.
func (t *Tool) rerunCommand(plan *scenarios.Plan, folder string, run *Record) string {
	s := plan.Scenario
	again := []string{run.program(), "run", "--plan", filepath.Join(folder, PlanFile)}
	if t.builtin(s) {
		again = []string{run.program(), "run", s.Name, "--seed", strconv.FormatUint(plan.Seed, 10)}
	}
	// what a scenario expects of itself is not what a policy demands
	if run.NoExpect || run.Policy != nil {
		again = append(again, "--no-expect")
	}
	return reports.Shell(append(again, run.Where...)...)
}

// builtin reports whether the scenario comes with lockchaos as it is, so that its
// name is enough to run it again.
func (t *Tool) builtin(s scenarios.Scenario) bool {
	suites, err := t.Suites()
	if err != nil {
		return false
	}
	found, _ := Find(suites, s.Name)
	return len(found) == 1 && reflect.DeepEqual(found[0], s)
}

// FaultColumn is the scenario's column in the matrix.
func FaultColumn(s scenarios.Scenario) string {
	switch {
	case len(s.Faults) > 0 && s.Drawn():
		return "random-faults"
	case s.Attack != "":
		return s.Attack
	case len(s.Faults) == 1 && s.Workload.Guard == "check" && s.Faults[0].Kind != "":
		return s.Faults[0].Kind + "-after-check"
	}
	return s.FaultLabel()
}

// strikeOf is what the scenario's only fault does.
func strikeOf(s scenarios.Scenario) reports.Strike {
	if len(s.Faults) != 1 || len(s.Faults[0].Parts()) > 0 || s.Attack != "" || s.Drawn() {
		return reports.OtherStrike
	}
	f, target := s.Faults[0], nemesis.Target(s.Faults[0].Target)
	switch {
	case f.Kind == nemesis.KindKill && target == nemesis.Holder:
		return reports.KillsHolder
	case f.Kind != nemesis.KindPause:
		return reports.OtherStrike
	case target == nemesis.Holder && s.Workload.Guard == "check":
		return reports.FreezesAfterCheck
	case target == nemesis.Holder:
		return reports.FreezesHolder
	case !target.Client():
		return reports.FreezesNodes
	}
	return reports.OtherStrike
}

// Compare sets what was found beside what is expected: each property, and the severity where it is.
func Compare(v checker.Verdict, e scenarios.Expect) []scenarios.Compared {
	return e.Compare(observed(v), v.Severity.String())
}

func observed(v checker.Verdict) []scenarios.Observed {
	var out []scenarios.Observed
	for _, p := range v.Properties {
		out = append(out, scenarios.Observed{Property: p.Name, Outcome: p.Outcome.String(), Kinds: p.KindsFound()})
	}
	return out
}

// Together puts the judged scenarios of a run together.
func (r *Record) Together(all []Judged) reports.Suite {
	s := reports.Suite{Name: Titled(r.Suite, r.Shard), About: r.About, Command: r.Command, Runtime: r.Runtime,
		Seed: r.Seed, Started: r.Started, Elapsed: r.Elapsed,
		Version: r.Version, Exam: r.Exam}
	if s.Exam != nil {
		exam := *s.Exam // the record keeps what was left out before the run
		s.Exam, exam.Left, exam.Not = &exam, slices.Clip(exam.Left), slices.Clip(exam.Not)
	}
	for _, sc := range all {
		if sc.senseless {
			s.Exam.Not = append(s.Exam.Not, reports.NotApplicable{Attack: sc.Fault, Why: sc.Skipped})
			continue
		}
		if sc.late {
			s.Exam.Left = append(s.Exam.Left, reports.LeftOut{Attack: sc.Fault, Why: sc.Skipped})
			continue
		}
		sc.Run = s.Title()
		s.Scenarios = append(s.Scenarios, sc.Scenario)
		for _, p := range sc.parts {
			if !slices.Contains(s.Versions, p) {
				s.Versions = append(s.Versions, p)
			}
		}
		for _, text := range sc.StandIns {
			if !slices.Contains(s.StandIns, text) {
				s.StandIns = append(s.StandIns, text)
			}
		}
	}
	s.Twins()
	return s
}

// Render writes every report of a run. Histories are read one at a time for
// each processor, so memory is bounded by the longest of them.
func Render(dir string, suite reports.Suite) error {
	var all errgroup.Group
	all.SetLimit(goruntime.NumCPU())
	for _, sc := range suite.Scenarios {
		all.Go(func() error { return renderScenario(dir, sc) })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	if err := outside.Write(dir, reports.IndexFile,
		func(w io.Writer) error { return page.WriteIndex(w, suite) }); err != nil {
		return err
	}
	return RenderForCI(dir, suite)
}

// RenderForCI writes what CI systems read.
func RenderForCI(dir string, suite reports.Suite) error {
	return errors.Join(outside.Write(dir, JunitFile, func(w io.Writer) error { return ci.WriteJUnit(w, suite) }),
		outside.Write(dir, SarifFile, func(w io.Writer) error { return ci.WriteSARIF(w, suite) }))
}

func renderScenario(dir string, sc reports.Scenario) error {
	if h, file, err := ReadHistory(dir, sc.Dir); err == nil {
		sc.History, sc.HistoryFile = h, filepath.Base(file) // without one, sc.Failed says why
	}
	folder, err := outside.MakeFolder(dir, filepath.Clean(sc.Dir))
	if err != nil {
		return fmt.Errorf("make the scenario's folder: %w", err)
	}
	return page.WriteFolder(folder, sc)
}

// allowedByFlag says who allows what no lease prevents.
const allowedByFlag = ", allowed by --inherent"

// inherentWords say of an expectation why it is met though it is violated.
func inherentWords(c scenarios.Compared, by string) string {
	if !c.Inherent {
		return ""
	}
	return scenarios.InherentWords + by
}

// tellInherent tells what was violated and is allowed, since no lease prevents
// it. Beside a defect that is not certain: the defect may have brought it about.
func tellInherent(out io.Writer, sc reports.Scenario) {
	if !sc.Met {
		return
	}
	var names []string
	why := ""
	for _, e := range sc.Expect {
		if e.Known != "" { // no policy has ruled here, which may know of other violations
			names, why = append(names, e.Property), e.Known
		}
	}
	if len(names) > 0 {
		harmless.Fprintf(out, "%s: %s: %s\n", sc.Name, strings.Join(names, ", "), why)
	}
}

// JudgeRun judges all scenarios of a run's folder as they are judged now.
func (t *Tool) JudgeRun(dir string) (*Record, reports.Suite, error) {
	run, err := Load(dir)
	if err != nil {
		return nil, reports.Suite{}, err
	}
	var all []Judged
	for _, r := range run.Scenarios {
		if r.State == StateWaiting && r.Failed == "" {
			r.Failed = "not run: the run was ended before"
		}
		all = append(all, t.JudgeScenario(dir, r, run))
	}
	return run, run.Together(all), nil
}

// nodesOf is how many nodes a service has; 0 if there is no such service.
func nodesOf(name string) int {
	k, _ := backends.Lookup(name)
	return len(k.Nodes)
}
