package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockchaos/lockchaos/experiments"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/runtimes"
	"github.com/lockchaos/lockchaos/runs/screen"
)

// sameWhere are the flags of a saved run that say where it ran, unless others are given.
func (f *runFlags) sameWhere(cmd *cobra.Command, run *runs.Record) error {
	for _, name := range whereFlags {
		if cmd.Flags().Changed(name) {
			return nil
		}
	}
	return cmd.Flags().ParseAll(run.Where, func(flag *pflag.Flag, value string) error {
		if !slices.Contains(whereFlags, flag.Name) { // the record may be somebody else's
			return fmt.Errorf("%s says that it ran with --%s, which does not say where", runs.RecordFile, flag.Name)
		}
		return cmd.Flags().Set(flag.Name, value)
	})
}

func rerunCommand() *cobra.Command {
	f := newRunFlags()
	cmd := &cobra.Command{
		Use:   "rerun DIR",
		Short: "Run saved plans again, and say whether the verdicts are the same",
		Long: `Runs the plan of a scenario's folder again, or all plans of a run's folder: the same scenario, the
same seed, on the same runtime. Then it compares the new verdicts with those of the folder, both
judged by this version of the checker.

A seed repeats the plan: think times, lengths and spacing of faults. It does not repeat the
schedule, so a verdict may differ by chance. "lockchaos run --plan DIR/plan.yaml --repeat 20" shows
how often.

A run of --runtime sim repeats everything: its history must be the same, byte for byte. It is refused
if the adapter or the simulator has changed.

Exit status: 0 the verdicts are the same, 1 one differs, 2 one that was decided is decided no more, 3 the harness or a service failed.`,
		Example: `  lockchaos rerun runs/latest/redis-setnx.pause-holder.unfenced
  lockchaos rerun runs/latest`,
		Args: oneFolder("rerun"),
		RunE: func(cmd *cobra.Command, args []string) error {
			before, err := experiments.Load(ours(), args[0])
			if err != nil {
				return exit.Misuse(err)
			}
			if err := f.sameWhere(cmd, before.Run); err != nil {
				return exit.Misuse(err)
			}
			f.settle(cmd.Flags())
			return f.runAgain(before, cmd)
		},
	}
	f.addWhere(cmd.Flags())
	f.addEffort(cmd.Flags())
	f.addThen(cmd.Flags())
	return cmd
}

// oneFolder is for commands that take a folder of a run.
func oneFolder(verb string) cobra.PositionalArgs {
	return wordCount(1, 1, verb+" needs one folder, such as runs/latest or runs/latest/redis-setnx.none.unfenced")
}

// runAgain runs the plans again and compares.
func (f *runFlags) runAgain(s *experiments.Saved, cmd *cobra.Command) error {
	ctx, out := cmd.Context(), screen.New(cmd.OutOrStdout())
	f.NoExpect, f.Seed = s.Run.NoExpect, s.Run.Seed
	if err := f.checkWhere(); err != nil {
		return err
	}
	return f.there(ctx, s.Plans, out.Say, func(where runtimes.Runtime) error {
		run := &runs.Run{Settings: f.complete(), Where: where, Name: s.Run.Suite, About: s.Run.About, Plans: s.Plans, Screen: out, Command: reports.Shell(os.Args[0], "rerun", s.Named)}
		return f.then.Found(ctx, run, experiments.Rerun(ctx, s, run))
	})
}
