package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/runs/exit"
)

func checkCommand() *cobra.Command {
	second, dir := "", ""
	var flags foreignFlags
	cmd := &cobra.Command{
		Use:   "check HISTORY…",
		Short: "Judge saved histories again, or those of other tools and production logs",
		Long: `Judges each history by its properties alone, whatever was expected of it, and prints the verdict.
"-" is the standard input. A history that was compressed by Zstandard (.zst) is read as it is.

It reads the histories of lockchaos, Jepsen (EDN) and Porcupine (JSON), and audit logs in CSV or
JSON lines. --pattern reads logs in lines of text. The columns of a log are guessed by their names
and contents, and printed; --map overrides them. --events explains unusual words. docs/foreign.md
has examples of each flag.

--report DIR writes a report of the history into that folder, and makes the folder if needed:
report.html, verdict.json, the history as lockchaos reads it, and for each violated property the few
ops that show it. It needs the whole history in memory.

--oracle porcupine asks the linearizability checker Porcupine, too, whether the holds exclude each
other, a bounded window at a time. It needs the whole history in memory, and says what it did not
cover.

A history that was cut is judged by what it certainly shows: a violation stands, anything else is
inconclusive.

Exit status: 0 all passed, 1 a property was violated, 2 inconclusive, 64 a file that is no history.`,
		Example: `  lockchaos check runs/latest/*/history.jsonl
  lockchaos check --reentrant store/hazelcast/latest/history.edn
  lockchaos check --clock-error 50ms audit.csv
  lockchaos check --map 'client=pod,key=resource' audit.csv
  lockchaos check --pattern '` + examplePattern + `' --skip-unmatched app.log`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Misuse(errors.New("check needs a history, such as runs/latest/redis-setnx.none.unfenced/history.jsonl"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if second != "" && second != oracleName {
				return exit.Misuse(fmt.Errorf("unknown oracle %q: there is only %q", second, oracleName))
			}
			if _, err := flags.options(); err != nil {
				return exit.Misuse(err)
			}
			if dir != "" && len(args) > 1 {
				return exit.Misuse(fmt.Errorf("--report is about one history, and these are %d: check them one by one, each with a folder of its own", len(args)))
			}
			worst := exit.OK
			var unread []error
			for i, file := range args {
				if i > 0 {
					harmless.Fprintln(cmd.OutOrStdout())
				}
				j, err := judgeFile(file, cmd.InOrStdin(), &flags, second != "" || dir != "")
				if err != nil {
					unread = append(unread, howToRead(err, cmd, file)) // the others are judged all the same
					continue
				}
				printVerdict(cmd.OutOrStdout(), file, &j)
				worst = exit.Worse(worst, exit.OfOutcome(j.verdict.Outcome))
				if dir != "" {
					page, err := reportOn(dir, cmd.Root().Name(), typed(cmd, "report", "", file), file, &j)
					if err != nil {
						return err
					}
					harmless.Fprintf(cmd.OutOrStdout(), "report: %s\n", page)
				}
				if second == "" {
					continue
				}
				if err := secondOpinion(cmd.OutOrStdout(), &j.whole, j.verdict); err != nil {
					harmless.Fprintf(cmd.ErrOrStderr(), "lockchaos: %s: %v\n", file, err)
					worst = exit.Failed
				}
			}
			if len(unread) > 0 {
				return exit.Misuse(errors.Join(unread...))
			}
			if worst != exit.OK {
				return exit.With(worst, nil)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&second, "oracle", "", fmt.Sprintf("ask a second judge about the holds: %s", oracleName))
	cmd.Flags().StringVar(&dir, "report", "", "write a report of the history into this folder: report.html, verdict.json, and a witness of each property that is violated")
	flags.add(cmd.Flags())
	return cmd
}

// judgeFile judges a file, or the standard input; keep keeps its events.
func judgeFile(file string, stdin io.Reader, flags *foreignFlags, keep bool) (judgedFile, error) {
	if file == "-" {
		return flags.judge(stdin, "standard input", keep)
	}
	f, err := os.Open(file)
	if err != nil {
		return judgedFile{}, fmt.Errorf("no history there: %w", err)
	}
	defer f.Close()
	return flags.judge(f, file, keep)
}
