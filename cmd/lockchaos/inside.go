package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/clients/shell"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/harness/worker"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/netfault"
	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/own"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
)

// insideCommands are what lockchaos starts itself as, inside sandboxes and containers.
func insideCommands() []*cobra.Command {
	scenario := &cobra.Command{
		Use:   runtimes.ScenarioVerb + " DIR",
		Short: "Run the plan in a folder (inside a sandbox)",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return ours().RunInside(cmd.Context(), args[0], cmd.OutOrStdout(), runtimes.RunInside)
		},
	}
	worker := &cobra.Command{
		Use:   "worker",
		Short: "Be a client: take commands from the harness",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return worker.Run(cmd.Context(), os.Stdin, os.Stdout, workerLocks())
		},
	}
	node := &cobra.Command{
		Use:                "node KIND …",
		Short:              "Be a node of a service: a server that is compiled in",
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			// The node has said on its standard error what went wrong.
			if code := backends.NodeMain(args); code != 0 {
				os.Exit(code)
			}
			return nil
		},
	}
	probe := &cobra.Command{
		Use:   runtimes.ProbeVerb,
		Short: "Try the faults of a network, inside a sandbox",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return netfault.WriteProbe(cmd.Context(), cmd.OutOrStdout())
		},
	}
	try := &cobra.Command{
		Use:   own.TrialVerb + " TRIAL",
		Short: "Try an adapter (inside a sandbox)",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !hosts.Inside() {
				return exit.Misuse(errors.New(own.TrialVerb + " is for lockchaos itself: use `lockchaos adapter test`"))
			}
			return own.Inside(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	all := []*cobra.Command{scenario, worker, node, probe, try, lockExecCommand()}
	for _, cmd := range all {
		cmd.Hidden = true
	}
	return all
}

// lockExecCommand is an adapter: that of a lock which is made of shell commands.
func lockExecCommand() *cobra.Command {
	var commands shell.Commands
	cmd := &cobra.Command{
		Use:   shell.Verb,
		Short: "Be a lock that is made of shell commands (inside a sandbox)",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			lock, err := commands.Lock(func(err error) {
				harmless.Fprintln(os.Stderr, harmless.Block(redact.Text(err.Error()), "  "))
				os.Exit(exit.Failed)
			})
			if err != nil {
				return exit.Misuse(err)
			}
			return lock.Serve(os.Stdin, os.Stdout)
		},
	}
	addCommands(cmd.Flags(), &commands)
	return cmd
}
