package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/spf13/cobra"
)

func reportCommand() *cobra.Command {
	var output outputFlags
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Judge and render a run's folder again",
		Long: `Reads the plans and histories in a run's folder, judges them with this version of the checker and writes all reports anew.
The exit status is that of the run as it is judged now.`,
		Example: "  lockchaos report runs/latest",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(errors.New("report needs one folder, such as runs/latest"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			// A link is shown as what it points at: it may point elsewhere tomorrow.
			dir := args[0]
			if real, err := filepath.EvalSymlinks(dir); err == nil {
				dir = real
			}
			repeated, err := loadRepetition(dir)
			if err != nil {
				return usage(err)
			}
			out, err := output.open(cmd)
			if err != nil {
				return err
			}
			defer out.resumeCommands()
			if isGate(dir) {
				return reportGate(out, dir)
			}
			if repeated != nil {
				return reportRepetition(cmd.Context(), out, dir, repeated)
			}
			run, suite, err := judgeRun(dir)
			if err != nil {
				return usage(err)
			}
			if err := render(dir, suite); err != nil {
				if errors.Is(err, os.ErrPermission) {
					return fmt.Errorf("%w (the reports are written into the run's own folder)", err)
				}
				return err
			}
			return out.conclude(dir, suite, func(w io.Writer) error { return conclude(w, dir, suite, run.NoExpect, false) })
		},
	}
	output.add(cmd.Flags())
	return cmd
}

// judgeRun judges all scenarios of a run's folder as they are judged now.
func judgeRun(dir string) (*runRecord, reports.Suite, error) {
	run, err := loadRun(dir)
	if err != nil {
		return nil, reports.Suite{}, err
	}
	var all []judged
	for _, r := range run.Scenarios {
		all = append(all, judgeScenario(dir, r, run))
	}
	return run, run.suite(all), nil
}
