package terminal

import (
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/studies"
)

// TestExamWithinBudget: an exam names the attacks that did not fit into its
// budget, with the reason, and says that the verdict is of those that were made.
func TestExamWithinBudget(t *testing.T) {
	exam := reports.ExamOf("any", []struct{ Attack, Why, Fix string }{{"stop-reader", "it knows no readers", ""}})
	exam.Budget = 20 * time.Minute
	exam.Leave("stop-grant", "about 3 min")
	exam.Leave("node-stops", "about 2 min")
	exam.Leave("stop-all", "about 3 min")
	s := reports.Suite{Exam: exam, Scenarios: []reports.Scenario{{Name: "any/stop-work/unfenced", Fault: "stop-work",
		Verdict: checker.Verdict{Outcome: checker.Pass}}}}
	var b strings.Builder
	if err := WriteExam(&b, s, false, 200); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"✓ stop-work  stood\n",
		"– left out by --budget: needs about 3 min: stop-grant, stop-all\n", "– left out by --budget: needs about 2 min: node-stops\n",
		"– not applicable, since it knows no readers: stop-reader\n",
		"\n1 of 4 attacks. No defect. 3 left out by --budget. 1 not applicable.\n", "the attacks that fit into --budget 20m0s"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}

// TestExamBesideACompleteSearch: the last lines tell what every single fault came to in the
// simulation, and where its page is; an exam without such a search says nothing of one.
func TestExamBesideACompleteSearch(t *testing.T) {
	told := studies.Complete{Places: 20, Faults: 2, Schedules: 20, Equal: 14, Tried: 6, Clients: 2, Keys: 1}.Told()
	for _, c := range []struct {
		complete *reports.ExamComplete
		says     bool
	}{{&reports.ExamComplete{Told: told, Report: "runs/a/complete.html"}, true}, {nil, false}} {
		s := reports.Suite{Exam: &reports.Exam{Lock: "any", Complete: c.complete}, Scenarios: []reports.Scenario{
			{Name: "any/stop-work/unfenced", Fault: "stop-work", Verdict: checker.Verdict{Outcome: checker.Pass}}}}
		var b strings.Builder
		if err := WriteExam(&b, s, false, 2000); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Complete for single faults in the simulation, within the bounds below. 20 places × 2 faults: 6 tried, 14 equal, ",
			"Nothing is said of two faults, ", "Its report: runs/a/complete.html."} {
			if strings.Contains(b.String(), want) != c.says {
				t.Errorf("%q, and it should be there: %v, in:\n%s", want, c.says, b.String())
			}
		}
	}
}

// TestExamMended: the last lines tell what the lock comes to without its first defect, and the
// headline names what shows only then.
func TestExamMended(t *testing.T) {
	of := func(attack string, violated ...string) reports.Scenario {
		x := reports.Scenario{Name: "any/" + attack, Fault: attack, Verdict: checker.Verdict{Outcome: checker.Violated}}
		for _, p := range violated {
			x.Verdict.Properties = append(x.Verdict.Properties, checker.PropertyResult{Name: p, Outcome: checker.Violated,
				Count: 1, Violations: []checker.Violation{{Property: p}}})
		}
		return x
	}
	stuck, lost := reports.DefectWords(checker.StuckLock), reports.DefectWords(checker.FalseLoss)
	for _, c := range []struct {
		name   string
		mended *reports.Mended
		says   []string
	}{
		{"a deep defect", &reports.Mended{Defect: checker.KeptKey, Fell: 2, Attacks: []string{"a"}, Avoids: "waits",
			Outcome: reports.MendedFalls, Still: []string{checker.FalseLoss}, Gone: []string{checker.StuckLock}},
			[]string{"2 attacks. 3 defects: ", "; " + lost + ".\n", "Without that defect: falls still: " + lost +
				" (1 of 2 fallen attacks made again on an application that waits).",
				"; it does not show without the first defect."}},
		{"no mask", &reports.Mended{Defect: checker.KeptKey, Outcome: reports.MendedUnknown, Why: "no application avoids it"},
			[]string{"2 defects: ", "Without that defect: not known, since no application avoids it.",
				stuck[1:] + ": shown by b; it is not known whether it shows without the first defect."}},
		{"a shard", nil, []string{"2 defects: ", "it is not known whether it shows without the first defect."}},
	} {
		s := reports.Suite{Exam: &reports.Exam{Lock: "any", Mended: c.mended},
			Scenarios: []reports.Scenario{of("a", checker.KeptKey), of("b", checker.KeptKey, checker.StuckLock)}}
		var b strings.Builder
		if err := WriteExam(&b, s, false, 2000); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.says {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: no %q in:\n%s", c.name, want, b.String())
			}
		}
		if c.mended == nil && strings.Contains(b.String(), "Without that defect") {
			t.Errorf("what was not tried is told:\n%s", b.String())
		}
	}
}

// TestAttackLine: while an exam goes on, an attack is told by what the last lines will say of it,
// not by the outcome of its properties.
func TestAttackLine(t *testing.T) {
	inherent := checker.Verdict{Outcome: checker.Violated, Stats: checker.Stats{Ops: 120, Indefinite: 3},
		Properties: []checker.PropertyResult{{Name: checker.MutualExclusion, Outcome: checker.Violated, Count: 1,
			Kinds:      map[string]int{checker.KindLeaseOverrun: 1},
			Violations: []checker.Violation{{Property: checker.MutualExclusion, Kind: checker.KindLeaseOverrun}}}}}
	open := checker.Verdict{Reasons: []string{"The machine stalled."}, Stats: checker.Stats{Ops: 120, Indefinite: 61}}
	for _, c := range []struct {
		name         string
		x            reports.Scenario
		says, ending string
	}{
		{"a lock that stood", reports.Scenario{Verdict: checker.Verdict{Outcome: checker.Pass, Stats: checker.Stats{Grants: 7}}},
			"✓ stood", " (7 grants)"},
		{"what no lease prevents", reports.Scenario{Verdict: inherent}, "◐ fell: inherent: ", "; 3 of 120 answers unknown"},
		{"a run that shows nothing", reports.Scenario{Verdict: open}, "? inconclusive: The machine stalled",
			"; 61 of 120 answers unknown, so it decided little"},
	} {
		c.x.Name, c.x.Fault = "any/late/unfenced", "late"
		var last strings.Builder
		if err := WriteExam(&last, reports.Suite{Exam: &reports.Exam{Lock: "any"}, Scenarios: []reports.Scenario{c.x}}, false, 200); err != nil {
			t.Fatal(err)
		}
		line := AttackLine(c.x, 20, false)
		if !strings.Contains(line, c.says) || !strings.Contains(line, c.ending) {
			t.Errorf("%s: %q", c.name, line)
		}
		mark, told, _ := strings.Cut(c.says, " ")
		if !strings.Contains(last.String(), mark+" late  "+told) {
			t.Errorf("%s: the line says %q, the end %q", c.name, line, last.String())
		}
	}
}
