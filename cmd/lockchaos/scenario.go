package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/runs/runtimes"
)

// scenarioCommand is what the command runs as inside each sandbox: one scenario, from its plan to its history.
func scenarioCommand() *cobra.Command {
	return &cobra.Command{
		Use:    runtimes.ScenarioVerb + " DIR",
		Short:  "Run the plan in a folder (inside a sandbox)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return ours().RunInside(cmd.Context(), args[0], cmd.OutOrStdout(), runtimes.Carry)
		},
	}
}

func workerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "worker",
		Short:  "Be a client: take commands from the harness",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return harness.Work(cmd.Context(), os.Stdin, os.Stdout, workerLocks())
		},
	}
}
