package runs

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/terminal"
)

// What a run came to: its matrix, failures or attacks, where the report is, the exit status.

// Summarize prints the matrix and where the report is, and returns the run's
// exit status as an error.
func Summarize(out io.Writer, dir string, suite reports.Suite, noExpect, interrupted bool) error {
	s := screen.New(out)
	if err := terminal.Matrix(out, suite, s.Color, s.Width); err != nil {
		return fmt.Errorf("print the matrix: %w", err)
	}
	harmless.Fprintln(out)
	for _, sc := range suite.Scenarios {
		tellInherent(out, sc)
		if exit.OfScenario(sc, noExpect) != exit.OK && sc.Failed == "" && sc.Skipped == "" {
			harmless.Fprintf(out, "%s: seed %d, plan %s\n  again: %s\n", sc.Name, sc.Seed,
				reports.There(filepath.Join(dir, sc.Dir, PlanFile)), sc.Rerun)
		}
	}
	summarizeFailed(out, dir, suite.FailedByCause())
	page := filepath.Join(dir, reports.IndexFile)
	if len(suite.Scenarios) == 1 {
		page = filepath.Join(dir, suite.Scenarios[0].Dir, ReportFile)
	}
	harmless.Fprintf(out, "report: %s\n", reports.There(page))
	TellAdds(out, suite)
	return exit.Ended(exit.OfSuite(suite, noExpect), nil, interrupted)
}

// summarizeFailed tells each cause of failures once, in full, with where to look.
func summarizeFailed(out io.Writer, dir string, groups [][]reports.Scenario) {
	for _, group := range groups {
		sc := group[0]
		harmless.Fprintf(out, "%s: seed %d, plan %s\n  again: %s\n", sc.Name, sc.Seed,
			reports.There(filepath.Join(dir, sc.Dir, PlanFile)), sc.Rerun)
		harmless.Fprintf(out, "%s failed: %s\n  logs of %s: %s\n", sc.Name, harmless.Block(sc.Failed, "  "), sc.Name,
			reports.There(filepath.Join(dir, sc.Dir, reports.LogFolder)))
		if n := len(group) - 1; n > 0 {
			harmless.Fprintf(out, "  and %d more scenario%s for the same reason: logs in %s\n", n, spelling.Plural(n),
				filepath.Join(dir, "*", reports.LogFolder))
		}
	}
}

// summarizeExam tells attack by attack what an exam came to; its error carries the exit status.
func summarizeExam(out io.Writer, dir string, suite reports.Suite, interrupted bool) error {
	s := screen.New(out)
	harmless.Fprintln(out)
	if err := terminal.WriteExam(out, suite, s.Color, s.Width); err != nil {
		return fmt.Errorf("print the exam: %w", err)
	}
	harmless.Fprintln(out)
	code := exit.OK
	for _, sc := range suite.Scenarios {
		fate := sc.Fate()
		if sc.Skipped != "" && sc.Demanded { // its shard is missing
			code = exit.Worse(code, exit.Inconclusive)
			continue
		}
		code = exit.Worse(code, exit.OfFate(fate))
		if code := exit.OfFate(fate); code == exit.Violated || code == exit.Inconclusive {
			harmless.Fprintf(out, "%s: again: %s\n", sc.Fault, sc.Rerun)
		}
	}
	summarizeFailed(out, dir, suite.FailedByCause())
	harmless.Fprintf(out, "report: %s\n", reports.There(filepath.Join(dir, reports.IndexFile)))
	TellAdds(out, suite)
	return exit.Ended(code, nil, interrupted)
}

// NoAttack tells of an exam whose attacks all need something that the machine
// lacks. Nothing was run.
func NoAttack(out io.Writer, exam *reports.Exam) {
	for _, line := range exam.Inapplicable() {
		harmless.Fprintln(out, "– "+line)
	}
	harmless.Fprintf(out, "\nNo attack on %s was made.\n", exam.Lock)
	TellAdds(out, reports.Suite{Exam: exam})
}

// TellAdds tells what a suite lacked on its machine, a line for each thing to do about it.
func TellAdds(out io.Writer, suite reports.Suite) {
	var fixes []string
	adds := map[string][]string{}
	add := func(fix, what string) {
		if !slices.Contains(fixes, fix) {
			fixes = append(fixes, fix)
		}
		if !slices.Contains(adds[fix], what) {
			adds[fix] = append(adds[fix], what)
		}
	}
	if suite.Exam != nil {
		for _, n := range suite.Exam.Not {
			if n.Fix != "" {
				add(n.Fix, n.Attack)
			}
		}
	}
	for _, text := range suite.StandIns {
		if fix := backends.RealInstead(text); fix != "" {
			add(fix, "what runs show of the real service itself")
		}
	}
	for _, fix := range fixes {
		harmless.Fprintf(out, "to add %s: %s\n", strings.Join(adds[fix], " and "), fix)
	}
}
