package main

import (
	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/netfault"
	"github.com/lockchaos/lockchaos/runs/runtimes"
)

func probeCommand() *cobra.Command {
	return &cobra.Command{
		Use:    runtimes.ProbeVerb,
		Short:  "Try the faults of a network, inside a sandbox",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return netfault.WriteProbe(cmd.Context(), cmd.OutOrStdout())
		},
	}
}
