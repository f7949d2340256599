package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/internal/experiments"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
)

func reportCommand() *cobra.Command {
	var compare, merge bool
	var page, parent string
	var output outputFlags
	cmd := &cobra.Command{
		Use:   "report DIR …",
		Short: "Judge and render a run's folder again, or those of its shards as one",
		Long: `Reads the plans and histories in a run's folder, judges them with this version of the checker and
writes all reports anew. The exit status is that of the run as it is judged now.

--compare A B compares two runs, or two scenarios: which verdicts changed and which stayed, with
counts, versions and seeds. Exit status: 1 if a scenario is worse in B, 2 if one was decided in A
and is not in B, else 0.

--merge makes one new folder of the shards of a run (run, exam or gate with --shard), with one
report, junit.xml and sarif.json, and for a gate one ruling. It refuses shards of different suites,
seeds, versions, policies or cuts, and the same shard twice. The scenarios of a missing shard are
listed as not run, and the exit status is then 2, if nothing worse is found.`,
		Example: `  lockchaos report runs/latest
  lockchaos report --merge shard-*/latest
  lockchaos report --compare runs/before runs/after`,
		Args: func(_ *cobra.Command, args []string) error { return checkReport(len(args), compare, merge) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if compare {
				return experiments.Compare(ours(), cmd.OutOrStdout(), args[0], args[1], page)
			}
			if page != "" {
				return exit.Misuse(errors.New("--page is for --compare: the reports of one run are written into its folder"))
			}
			if cmd.Flags().Changed("out") && !merge {
				return exit.Misuse(errors.New("--out is for --merge: the reports of one run are written into its folder"))
			}
			dir := args[0]
			if merge {
				var err error
				if dir, err = runs.MergeShards(parent, args); err != nil {
					return err
				}
			}
			return experiments.Report(cmd.Context(), ours(), dir,
				func() (*screen.Screen, error) { return output.open(cmd) })
		},
	}
	cmd.Flags().BoolVar(&compare, "compare", false, "set two runs side by side")
	cmd.Flags().BoolVar(&merge, "merge", false, "make one run of the shards of one")
	addOut(cmd.Flags(), &parent, "of --merge: folder for the folder of the merged run")
	cmd.Flags().StringVar(&page, "page", "", "of --compare: file for the page (default: "+experiments.CompareFile+
		" in the second run's folder)")
	output.add(cmd.Flags())
	return cmd
}

// checkReport refuses another number of folders than is needed.
func checkReport(folders int, compare, merge bool) error {
	switch {
	case compare && merge:
		return exit.Misuse(errors.New("report --compare or --merge, not both"))
	case compare && folders != 2:
		return exit.Misuse(errors.New("report --compare needs two folders, that of the first run and that of the second"))
	case merge && folders == 0:
		return exit.Misuse(errors.New("report --merge needs the folder of each shard, such as shard-1/latest shard-2/latest"))
	case !compare && !merge && folders != 1:
		return exit.Misuse(errors.New("report needs one folder, such as runs/latest"))
	}
	return nil
}
