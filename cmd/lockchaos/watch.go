package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/watch"
)

func watchCommand() *cobra.Command {
	var flags foreignFlags
	var s watch.Settings
	addr := ""
	cmd := &cobra.Command{
		Use:   "watch [-]",
		Short: "Judge an endless log as it comes, and go on after a restart",
		Long: `Reads the log of an application from the standard input, judges it as it comes, and prints each
violation in a line. It reads logs in CSV, JSON lines and, with --pattern, lines of text: one record
a line. Columns and words are those of check. A history of lockchaos itself is for check.

The folder of --out has findings.jsonl, a page of each of the first 1000 violations with its
witness, the journal by which a later watch goes on, and the lines that were not judged: bad-lines
and late-lines. A watch that was killed goes on with the same folder and the same flags. Send the
log again from its start (tail -n +1 -F), or from where it went on: lines that were read before are
recognised. docs/foreign.md says what is certain in which case.

Exit status, when the log ends or at an interrupt: 0 no violation, 1 violations, 3 the folder
cannot be written, 64 wrong usage.`,
		Example: `  tail -n +1 -F audit.csv | lockchaos watch --map client=pod -
  kubectl logs -f deploy/app | lockchaos watch --format json --metrics 127.0.0.1:9464 -`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] != "-" {
				return exit.Misuse(fmt.Errorf("watch reads the standard input: tail -n +1 -F %s | %s -", args[0], cmd.CommandPath()))
			}
			reading, err := flags.reading(false)
			if err != nil {
				return exit.Misuse(err)
			}
			if s.Late < 0 || s.Forget < s.Late {
				return exit.Misuse(errors.New("--late is 0 or more, and --forget at least as long"))
			}
			s.Format, s.Options, s.Out, s.Program = reading.Format, reading.Options, cmd.OutOrStdout(), cmd.Root().Name()
			if s.Dir, err = filepath.Abs(s.Dir); err != nil {
				return exit.Misuse(err)
			}
			if addr != "" {
				count, at, stop, err := watch.Serve(addr)
				if err != nil {
					return exit.Misuse(err)
				}
				defer stop()
				s.Count = count
				harmless.Fprintf(cmd.ErrOrStderr(), "metrics: http://%s/metrics\n", at)
			}
			result, err := watch.Run(cmd.Context(), cmd.InOrStdin(), s)
			if _, ours := errors.AsType[*fs.PathError](err); ours {
				return exit.With(exit.Failed, err)
			}
			if err != nil {
				return exit.Misuse(howToRead(err, cmd, "-"))
			}
			harmless.Fprintf(cmd.OutOrStdout(), "%d lines: %d findings, %d bad lines, %d lines about what was forgotten\n", result.Lines, result.Findings, result.Bad, result.Beyond)
			code := exit.OK
			if result.Findings > 0 {
				code = exit.Violated
			}
			return exit.Ended(code, nil, false)
		},
	}
	cmd.Flags().StringVar(&s.Dir, "out", "watch", "folder of the journal, the findings and their pages")
	cmd.Flags().DurationVar(&s.Late, "late", 5*time.Second, "how much older than the newest line a line may be that still comes")
	cmd.Flags().DurationVar(&s.Forget, "forget", 10*time.Minute, "how long a client may be silent under a grant before it counts as gone")
	cmd.Flags().StringVar(&addr, "metrics", "", "serve metrics for Prometheus at this address, such as 127.0.0.1:9464")
	flags.add(cmd.Flags())
	return cmd
}
