package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/reports"
)

func reportCommand() *cobra.Command {
	var compare bool
	var page string
	var output outputFlags
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Judge and render a run's folder again",
		Long: `Reads the plans and histories in a run's folder, judges them with this version of the checker and writes all reports anew.
The exit status is that of the run as it is judged now.

With --compare A B two runs, or two scenarios, are set side by side: which verdicts changed, which stayed, with counts, versions and seeds. The exit status is 1
if a scenario is worse in B, 2 if one that was decided is decided no more, else 0.`,
		Example: `  lockchaos report runs/latest
  lockchaos report --compare runs/before runs/after`,
		Args: func(_ *cobra.Command, args []string) error {
			if compare && len(args) != 2 {
				return usage(errors.New("report --compare needs two folders, that of the first run and that of the second"))
			}
			if compare {
				return nil
			}
			if len(args) != 1 {
				return usage(errors.New("report needs one folder, such as runs/latest"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if compare {
				return compareRuns(cmd.OutOrStdout(), args[0], args[1], page)
			}
			if page != "" {
				return usage(errors.New("--page is for --compare: the reports of one run are written into its folder"))
			}
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
	cmd.Flags().BoolVar(&compare, "compare", false, "set two runs side by side")
	cmd.Flags().StringVar(&page, "page", "", "of --compare: file for the page (default: "+compareFile+" in the second run's folder)")
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
		if r.State == stateWaiting && r.Failed == "" {
			r.Failed = "not run: the run was ended before"
		}
		all = append(all, judgeScenario(dir, r, run))
	}
	return run, run.suite(all), nil
}
