package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/metrics"
	"github.com/lockchaos/lockchaos/internal/runs/watch"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// undecided says which lines of a log without findings were not judged.
func undecided(r watch.Result, dir string) error {
	var why []string
	for _, part := range []struct {
		n    int64
		text string
	}{
		{r.Bad, " of " + strconv.FormatInt(r.Lines, 10) + " lines can't be read (" + filepath.Join(dir, "bad-lines") +
			")"},
		{r.Beyond, " lines are about what was forgotten (" + filepath.Join(dir, "late-lines") +
			"; see --late and --forget)"},
		{r.Crowded, " times lines were forgotten though a later one might have spoken of them, because a lock was never free"},
		{r.Open, " lines leave it open who held a lock"},
	} {
		if part.n > 0 {
			why = append(why, strconv.FormatInt(part.n, 10)+part.text)
		}
	}
	if r.Doubtful > 0 {
		why = append(why, "lines left a lock in doubt "+phrase.Plural(r.Doubtful, "time")+", the first is "+r.Doubt)
	}
	if r.Nothing {
		why = append(why, "no line was about a lock")
	}
	return fmt.Errorf("no violation was found, but not all was judged: %s", strings.Join(why, "; "))
}

func watchCommand() *cobra.Command {
	var flags foreignFlags
	var s watch.Settings
	var measured metricsFlag
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

Exit status, when the log ends or at an interrupt: 0 every line was judged and shows no violation, 1
violations, 2 no violation but lines that were not judged, or that leave it open whether there was
one, 3 the folder cannot be written, 64 wrong usage, or a log that ends without a line about a lock.`,
		Example: `  tail -n +1 -F audit.csv | lockchaos watch --map client=pod -
  kubectl logs -f deploy/app | lockchaos watch --format json --metrics 127.0.0.1:9464 -`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] != "-" {
				return exit.Misuse(fmt.Errorf("watch reads the standard input: tail -n +1 -F %s | %s -", args[0],
					cmd.CommandPath()))
			}
			reading, err := flags.reading(false)
			if err != nil {
				return exit.Misuse(err)
			}
			if s.Late < 0 || s.Forget < s.Late {
				return exit.Misuse(errors.New("--late is 0 or more, and --forget at least as long"))
			}
			s.Format, s.Options, s.Out, s.Program = reading.Format, reading.Options, cmd.OutOrStdout(),
				cmd.Root().Name()
			if s.Dir, err = filepath.Abs(s.Dir); err != nil {
				return exit.Misuse(err)
			}
			stop, err := measured.serve(cmd,
				func() *metrics.Set { s.Metrics = metrics.New().OfLog(); return s.Metrics })
			if err != nil {
				return exit.Misuse(err)
			}
			defer stop()
			result, err := watch.Run(cmd.Context(), cmd.InOrStdin(), s)
			if _, ours := errors.AsType[*fs.PathError](err); ours {
				return exit.With(exit.Failed, err)
			}
			if err != nil {
				return exit.Misuse(howToRead(err, cmd, "-"))
			}
			harmless.Fprintf(cmd.OutOrStdout(),
				"%d lines: %d findings, %d bad lines, %d lines about what was forgotten\n", result.Lines,
				result.Findings, result.Bad, result.Beyond)
			if result.Findings > 0 {
				return exit.With(exit.Violated, nil)
			}
			if !result.Decided() || result.Doubtful > 0 {
				return exit.With(exit.Inconclusive, undecided(result, s.Dir))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&s.Dir, "out", "watch", "folder of the journal, the findings and their pages")
	cmd.Flags().DurationVar(&s.Late, "late", 5*time.Second,
		"how much older than the newest line a line may be that still comes")
	cmd.Flags().DurationVar(&s.Forget, "forget", 10*time.Minute,
		"how long a client may be silent under a grant before it counts as gone")
	measured.add(cmd.Flags())
	flags.add(cmd.Flags())
	return cmd
}
