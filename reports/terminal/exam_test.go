package terminal

import (
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
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
		"\n1 of 4 attacks. No defect. 3 left out by --budget. 1 not applicable.\n", "of the attacks that were made within --budget 20m0s"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}
