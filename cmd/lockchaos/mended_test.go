package main

import (
	"bytes"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/pick"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// TestMaskedAttacksAreValid: what is made of an attack to avoid a defect would
// be accepted from a file.
func TestMaskedAttacksAreValid(t *testing.T) {
	needed.WithoutRace(t) // it makes plans, in one goroutine
	t.Parallel()
	table, known, file := attackTable(t), catalogue(), filepath.Join(t.TempDir(), "plan.yaml")
	for _, lock := range []string{"redis-setnx", "redis-multi", "redis-watchdog", "etcd-rw"} {
		examinee, err := pick.Examinee(ours(), lock, 0)
		if err != nil {
			t.Fatal(err)
		}
		all, _ := table.Of(examinee)
		for _, s := range all {
			done := map[string]bool{}
			for _, defect := range append(checker.Names(), checker.Named(checker.MutualExclusion).Kinds...) {
				mask, found := scenarios.MaskOf(defect, []scenarios.Scenario{s})
				masked, made := s, false
				if found && !done[mask.About] {
					done[mask.About] = true
					masked, made = mask.Of(s)
				}
				if !made {
					continue
				}
				if err := (scenarios.Plan{Seed: 1, Scenario: masked}).Save(file); err != nil {
					t.Fatal(err)
				}
				if again, err := scenarios.LoadPlan(file, known); err != nil {
					t.Errorf("%s, on an application that %s: %v", s.Name, mask.About, err)
				} else if !reflect.DeepEqual(again.Scenario, masked) {
					t.Errorf("%s: saved and read back it is another plan:\n%+v\n%+v", masked.Name, again.Scenario, masked)
				}
			}
			if len(done) == 0 {
				t.Errorf("%s: nothing can be avoided", s.Name)
			}
		}
	}
}

// TestExamMasks: a lock whose releases always deny their grants hears that it
// stands without that defect. With a second one behind it, it hears of both.
// Where no application avoids the defect, it hears that nobody knows.
func TestExamMasks(t *testing.T) {
	needed.Apart(t, "TestScripts/exam stands for exams with masks")
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	python, redis := needed.Program(t, "python3"), needed.Program(t, "redis-server")
	if python == "" || redis == "" {
		return
	}
	t.Parallel()
	examples, err := filepath.Abs("../../examples/python")
	if err != nil {
		t.Fatal(err)
	}
	own := func(flaws string) []string {
		return []string{"--lock-cmd", "env PYTHONPATH=" + examples + " " + python + " testdata/slow/lock.py 0.5 0.01 " +
			flaws, "--service", "redis", "--attack", "nothing-work,nothing-relay"}
	}
	for _, c := range []struct {
		name   string
		args   []string
		defect string
		want   reports.MendedOutcome
		still  string
	}{
		{"one flaw", own("denies"), checker.FalseLoss, reports.MendedStands, ""},
		{"a second one behind it", own("denies overtakes"), checker.FalseLoss, reports.MendedFalls, checker.KindGrantedWhileValid},
		{"nobody avoids it", []string{"broken-watchdog-deaf", "--attack", "cut-off-long"}, checker.KindLateNotice,
			reports.MendedUnknown, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			decided.Run(t, func() {
				dir := filepath.Join(t.TempDir(), "runs")
				var out, errs bytes.Buffer
				code := execute(t.Context(), append(append([]string{"exam"}, c.args...), "--out", dir), &out, &errs)
				run, suite, err := ours().JudgeRun(filepath.Join(dir, runs.LatestLink))
				if err != nil {
					t.Fatalf("status %d: %v\n%s%s", code, err, out.String(), errs.String())
				}
				m := run.Exam.Mended
				switch {
				case m == nil || m.Defect != c.defect:
					decided.Lacks("that the first defect is %s: %+v", c.defect, m)
				case m.Outcome != c.want && c.want != reports.MendedUnknown && m.Outcome != reports.MendedFalls:
					decided.Lacks("an outcome: %s", m)
				case code != 1 || m.Outcome != c.want || strings.Join(m.Still, " ") != c.still:
					t.Fatalf("status %d: %s\n%s", code, m, out.String())
				}
				if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), "Without that defect: "+string(c.want)) {
					t.Errorf("the last lines do not say so:\n%s", out.String())
				}
				if got := suite.AllDefects(); c.still != "" && !strings.Contains(strings.Join(got, "; "), reports.DefectWords(c.still)) {
					t.Errorf("the headline names %q", got)
				}
				if m.Dir == "" {
					return
				}
				if _, again, err := ours().JudgeRun(filepath.Join(dir, runs.LatestLink, m.Dir)); err != nil ||
					len(again.Scenarios) != len(m.Attacks) {
					t.Errorf("the attacks that were made again can't be judged again: %d of %d, %v",
						len(again.Scenarios), len(m.Attacks), err)
				}
			})
		})
	}
}
