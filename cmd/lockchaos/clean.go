package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/hosts/docker"
	"github.com/lockchaos/lockchaos/runs/runtimes"
)

func cleanCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "Remove whatever an earlier docker run left behind",
		Long: `Removes the containers and networks of docker runs whose process is no more, and the images of agents of other versions. What
belongs to a living run is left. Every docker run begins with the same; the local runtime leaves nothing behind.`,
		Args: noWords("clean takes no argument, and got %q"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			engine, err := docker.Connect(cmd.Context())
			var absent *docker.AbsentError
			if errors.As(err, &absent) {
				harmless.Fprintln(out, "nothing to clean:", absent)
				return nil
			}
			if err != nil {
				return err
			}
			removed, err := engine.Clean(cmd.Context())
			if removed.Any() {
				harmless.Fprintln(out, "removed", runtimes.RemovedText(removed))
			} else if err == nil {
				harmless.Fprintln(out, "nothing to clean")
			}
			for _, name := range removed.Unknown {
				harmless.Fprintf(out, "left %s: its run can't be seen from here (it was started in another container); docker rm -f or docker network rm removes it\n", name)
			}
			return err
		},
	}
}
