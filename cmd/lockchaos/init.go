package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/policy"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs/exit"
)

func initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a policy for the gate, with comments",
		Long: `Writes ` + policy.DefaultFile + `, or FILE: a policy that works as it is, with each key explained. A file that is there is never overwritten.
` + "`lockchaos gate`" + ` runs it.`,
		Example: "  lockchaos init && lockchaos gate",
		Args:    wordCount(0, 1, "init writes one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := policy.DefaultFile
			if len(args) > 0 {
				file = args[0]
			}
			f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
			if errors.Is(err, os.ErrExist) {
				return exit.Misuse(fmt.Errorf("%s is there already, and stays as it is: name another file", file))
			}
			if err != nil {
				return exit.Misuse(fmt.Errorf("write the policy: %w", err))
			}
			_, err = io.WriteString(f, policy.Starter(time.Now().UTC()))
			if err := errors.Join(err, f.Close()); err != nil {
				return fmt.Errorf("write the policy: %w", err)
			}
			harmless.Fprintf(cmd.OutOrStdout(), "%s is written; next: %s\n", file, reports.Shell(os.Args[0], "gate", file))
			return nil
		},
	}
}
