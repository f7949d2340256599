package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/hosts/docker"
	"github.com/lockchaos/lockchaos/internal/hosts/kubernetes"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/internal/spelling"
)

func cleanCommand() *cobra.Command {
	where := runtimes.Where{Runtime: runtimes.Docker}
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove whatever an earlier run left behind in containers or pods",
		Long: `Removes the containers and networks of docker runs whose process is no more, and the images of agents of other versions; with --runtime kubernetes the
pods of runs whose agent has ended. What belongs to a living run is left. Every docker and every kubernetes run begins with the same; the local runtime leaves nothing behind.`,
		Args: noWords("clean takes no argument, and got %q"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			if where.Runtime == runtimes.Kubernetes {
				return cleanCluster(cmd.Context(), where, out)
			}
			if where.Runtime != runtimes.Docker {
				return exit.Misuse(fmt.Errorf("--runtime %s: only %s and %s leave anything behind", where.Runtime,
					runtimes.Docker, runtimes.Kubernetes))
			}
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
	cmd.Flags().StringVar(&where.Runtime, "runtime", where.Runtime, `where to look: "docker" or "kubernetes"`)
	addCluster(cmd.Flags(), &where)
	return cmd
}

// cleanCluster removes the pods of runs that are over.
func cleanCluster(ctx context.Context, where runtimes.Where, out io.Writer) error {
	cluster, err := kubernetes.Connect(ctx, where.Context, where.Namespace)
	if err != nil {
		return err
	}
	removed, err := cluster.Clean(ctx)
	if len(removed) > 0 {
		harmless.Fprintf(out, "removed %d pod%s (%s)\n", len(removed), spelling.Plural(len(removed)),
			strings.Join(removed, ", "))
	} else if err == nil {
		harmless.Fprintln(out, "nothing to clean")
	}
	return err
}
