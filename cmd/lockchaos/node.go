package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/backends"
)

// nodeCommand is what a node process runs as: a server that is compiled in.
func nodeCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "node KIND …",
		Short:              "Be a node of a service",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			// The node has said on its standard error what went wrong.
			if code := backends.NodeMain(args); code != 0 {
				os.Exit(code)
			}
			return nil
		},
	}
}
