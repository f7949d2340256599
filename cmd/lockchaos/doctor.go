package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/netfault"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
)

func doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine can run, and what to install for the rest",
		Long: `Tries everything that a run needs, for real, and says how to get what is missing.

Exit status: 0 scenarios can run here (perhaps with a stand-in), 3 they cannot.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			ok := true
			machine := hosts.Probe(cmd.Context())
			for _, c := range machine {
				ok = ok && c.OK
			}
			programs, obstacle := servers(cmd.Context())
			// what is missing costs faults, not scenarios
			faults := netfault.ProbeOutside(cmd.Context(), runtimes.ProbeVerb)
			for _, c := range slices.Concat(machine, faults, programs, runtimes.EngineChecks(cmd.Context())) {
				mark := "ok  "
				if !c.OK {
					mark = "MISS"
				}
				harmless.Fprintf(out, "%s  %-28s %s\n", mark, c.Name, c.Detail)
				if !c.OK && c.Fix != "" {
					harmless.Fprintf(out, "      %-28s → %s\n", "", c.Fix)
				}
			}
			ok = ok && !obstacle
			if !ok {
				return exit.With(exit.Failed, fmt.Errorf("no scenario can run here before that is mended"))
			}
			harmless.Fprintf(out, "\nScenarios can run here: lockchaos run\n")
			return nil
		},
	}
}

// servers checks the programs of the lock services.
func servers(ctx context.Context) (checks []hosts.Check, obstacle bool) {
	for _, p := range backends.Programs() {
		c, inTheWay := p.Check(ctx)
		checks, obstacle = append(checks, c), obstacle || inTheWay
	}
	return checks, obstacle
}
