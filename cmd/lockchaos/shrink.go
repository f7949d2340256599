package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/experiments"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/scenarios"
)

// shrinkFlags are the settings of `lockchaos shrink`.
type shrinkFlags struct {
	runFlags
	experiments.Goal
}

func shrinkCommand() *cobra.Command {
	f := shrinkFlags{runFlags: newRunFlags()}
	cmd := &cobra.Command{
		Use:   "shrink DIR",
		Short: "Reduce a scenario that shows a violation to the smallest that still does",
		Long: `Removes faults, clients, keys, and time from the plan in a scenario's folder, while the same
property is still violated. It writes the rest as a scenario file: a regression test. "lockchaos
run" runs it, with exit status 1 while the violation shows.

A plan does not repeat its schedule. So each candidate is run --runs times, with as many seeds, and
counts as violated if --shows of them are. The smallest is then run twice as often, with other
seeds. If that does not confirm it, shrink goes a step back.

Exit status: 0 the scenario is written, 2 the violation did not show again, 3 the harness or a service failed, 64 nothing is violated in DIR.`,
		Example: `  lockchaos shrink runs/latest/redis-setnx.pause-holder.unfenced
  lockchaos shrink runs/latest/my-lock.random --property ` + checker.LostUpdate +
			` --runs 5 --shows 4 --budget 20m --write tests/lost-update.yaml`,
		Args: oneFolder("shrink"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.Runs < 1 || f.Shows < 1 || f.Shows > f.Runs {
				return exit.Misuse(fmt.Errorf("--shows %d of --runs %d: it must show in one run at least, and can in no more than are run", f.Shows, f.Runs))
			}
			if f.Budget <= 0 || f.Most < 0 {
				return exit.Misuse(fmt.Errorf("--budget %v --tries %d: the search needs some time, and some tries (0: no bound)", f.Budget, f.Most))
			}
			saved, err := experiments.Load(ours(), args[0])
			if err != nil {
				return exit.Misuse(err)
			}
			if err := errors.Join(f.sameWhere(cmd, saved.Run), f.checkWhere()); err != nil {
				return exit.Misuse(err)
			}
			f.consent = f.confirm(cmd)
			return f.shrink(cmd.Context(), screen.New(cmd.OutOrStdout()), saved, args[0])
		},
	}
	flags := cmd.Flags()
	f.addWhere(flags)
	f.addYes(flags)
	flags.StringVar(&f.Property, "property", "",
		"the property that must stay violated (default: one that was not expected to be; of several the one that harms data)")
	flags.IntVar(&f.Runs, "runs", 3, "how often each candidate is run")
	flags.IntVar(&f.Shows, "shows", 3, "in how many of these runs the property must be violated")
	flags.DurationVar(&f.Budget, "budget", 5*time.Minute, "how long to search")
	flags.IntVar(&f.Most, "tries", 0, "how many candidates to try at most (default: as many as the budget allows)")
	flags.StringVar(&f.File, "write", "", "file for the scenario (default: the name of the folder and .min.yaml, here)")
	return cmd
}

// shrink searches, and writes what it finds.
func (f *shrinkFlags) shrink(ctx context.Context, out *screen.Screen, saved *experiments.Saved, from string) error {
	s, err := experiments.NewShrinking(ours(), f.Goal, out, saved, from)
	if err != nil {
		return exit.Misuse(err)
	}
	plans := []scenarios.Plan{s.Plan}
	return f.there(ctx, plans, out.Say, func(where runtimes.Runtime) error {
		s.Plan = plans[0]
		return s.Do(ctx, f.complete(), where)
	})
}
