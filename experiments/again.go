package experiments

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

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
	began := time.Now()
	dir, err := runs.MakeFolder(now.Settings.Out, began)
	if err != nil {
		return err
	}
	now.Prepare(dir, began)
	now.Begin()
	now.Launch(ctx, make(chan struct{}, now.Settings.Parallel))()
	out.Stop()
	suite, unwritten := now.Finish()
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
	switch {
	case ctx.Err() != nil:
		return exit.With(exit.Failed, errors.New("interrupted: the report holds what there is"))
	case unwritten != nil:
		return exit.With(exit.Failed, unwritten)
	case c.Count(studies.Worse, studies.Better, studies.Decided) > 0:
		return exit.With(exit.Violated, nil)
	case c.Count(studies.Undecided) > 0:
		return exit.With(exit.Inconclusive, nil)
	}
	return nil
}
