package experiments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/screen"
)

// Report judges and renders a run's folder again: that of a run, a repetition or a gate. open makes
// the screen on which it is told. Its error carries the exit status.
func Report(ctx context.Context, tool *runs.Tool, dir string, open func() (*screen.Screen, error)) error {
	// A link is shown as what it points at: it may point elsewhere tomorrow.
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	repeated, err := runs.LoadRepetition(dir)
	if err != nil {
		return exit.Misuse(err)
	}
	out, err := open()
	if err != nil {
		return err
	}
	if runs.IsGate(dir) {
		return tool.ReportGate(out, dir)
	}
	if repeated != nil {
		return reportSeries(ctx, tool, out, dir, repeated)
	}
	run, suite, err := tool.JudgeRun(dir)
	if err != nil {
		return exit.Misuse(err)
	}
	if err := runs.Render(dir, suite); err != nil {
		if errors.Is(err, os.ErrPermission) {
			return fmt.Errorf("%w (the reports are written into the run's own folder)", err)
		}
		return err
	}
	return out.Conclude(dir, suite, func(w io.Writer) error { return runs.Tell(w, dir, suite, run.NoExpect, run.Interrupted) })
}
