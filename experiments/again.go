package experiments

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/studies"
	"github.com/lockchaos/lockchaos/reports/terminal"
	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/runs/exit"
)

// Rerun carries a run out, and sets what came out beside what had come out before. Its error carries the exit status.
func Rerun(ctx context.Context, before reports.Suite, now *runs.Run) error {
	out := now.Screen
	suite, unwritten, err := now.Through(ctx)
	if err != nil {
		return err
	}
	dir := now.Dir
	c := studies.Compare(before, suite)
	if err := terminal.ComparisonText(out.Out, c, out.Color); err != nil {
		return fmt.Errorf("print the comparison: %w", err)
	}
	for _, x := range suite.Scenarios {
		if x.Failed != "" {
			harmless.Fprintf(out.Out, "%s failed: %s\n  logs: %s\n", x.Name, harmless.Block(strings.TrimSpace(x.Failed), "  "), filepath.Join(dir, x.Dir, reports.LogFolder))
			unwritten = errors.Join(unwritten, fmt.Errorf("%s failed", x.Name))
		}
	}
	harmless.Fprintf(out.Out, "report: %s\n", reports.There(filepath.Join(dir, reports.IndexFile)))
	return exit.Ended(differs(c, studies.Worse, studies.Better, studies.Decided), unwritten, ctx.Err() != nil)
}

// differs is the exit status of a comparison: Violated where a verdict has changed in one of the
// ways, Inconclusive where one is no longer decided.
func differs(c studies.Comparison, ways ...studies.Change) int {
	switch {
	case c.Count(ways...) > 0:
		return exit.Violated
	case c.Count(studies.Undecided) > 0:
		return exit.Inconclusive
	}
	return exit.OK
}
