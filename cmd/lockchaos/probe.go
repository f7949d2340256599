package main

import (
	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/netfault"
)

// probeVerb is what lockchaos runs as in a throw-away sandbox to try the faults of a network.
const probeVerb = "probe"

func probeCommand() *cobra.Command {
	return &cobra.Command{
		Use:    probeVerb,
		Short:  "Try the faults of a network, inside a sandbox",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return netfault.WriteProbe(cmd.Context(), cmd.OutOrStdout())
		},
	}
}
