package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/synthetic"
)

func generateCommand() *cobra.Command {
	var c synthetic.Config
	out := "-"
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Write a history of any length, with a known number of violations",
		Long: `Writes the history of a lock that does not exist: correct, but for violations at places that the seed draws. It shows what the
judge finds, and how fast it is on your machine. What was planted is told on the standard error.

A file whose name ends in .zst is compressed.`,
		Example: "  lockchaos generate --events 100000000 --clients 50 --bad 1 | lockchaos check -\n" +
			"  lockchaos generate --events 1000000 --bad 3 --out big.jsonl.zst",
		Args: noWords("generate takes no words, only flags; got %q"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, _, err := synthetic.Header(c); err != nil {
				return exit.Misuse(err)
			}
			planted, err := synthetic.WriteFile(out, cmd.OutOrStdout(), c)
			if err != nil {
				return err
			}
			told := make([]string, len(planted))
			for i, p := range planted {
				told[i] = fmt.Sprintf("a %s (op %d on k%d)", p.Defect, p.Grant, p.Key)
			}
			const shown = 10
			switch n := len(told); {
			case n == 0:
				told = []string{"nothing"}
			case n > shown:
				told = append(told[:shown], fmt.Sprintf("and %d more", n-shown))
			}
			harmless.Fprintf(cmd.ErrOrStderr(), "planted: %s\n", strings.Join(told, ", "))
			return nil
		},
	}
	cmd.Flags().Int64Var(&c.Events, "events", 1_000_000, "how many events at least")
	cmd.Flags().IntVar(&c.Clients, "clients", 50, "how many clients")
	cmd.Flags().IntVar(&c.Keys, "keys", 0, "how many keys (0: one for each ten clients)")
	cmd.Flags().IntVar(&c.Bad, "bad", 0, "how many violations")
	cmd.Flags().IntVar(&c.Unknown, "unknown", 0, "how many acquires whose fate nobody knows")
	cmd.Flags().Uint64Var(&c.Seed, "seed", 1, "the seed; the same seed writes the same history")
	cmd.Flags().StringVar(&out, "out", "-", `the file; "-" is the standard output`)
	return cmd
}
