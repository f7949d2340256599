package main

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/oracle/opinion"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/saved"
)

func checkCommand() *cobra.Command {
	second, dir, explain, together := "", "", false, false
	var flags foreignFlags
	cmd := &cobra.Command{
		Use:   "check HISTORY…",
		Short: "Judge saved histories again, or those of other tools and production logs",
		Long: `Judges each history by its properties alone, whatever was expected of it, and prints the verdict.
"-" is the standard input. A history that was compressed by Zstandard (.zst) is read as it is.

It reads the histories of lockchaos, Jepsen (EDN) and Porcupine (JSON), and audit logs in CSV or
JSON lines. It also reads traces (--span) and watches of Kubernetes' Leases or of etcd. --pattern reads logs in lines of text. The columns of a log are guessed by their names
and contents, and printed; --map overrides them. --events explains unusual words. docs/foreign.md
has examples of each flag.

--report DIR writes a report of the history into that folder, and makes the folder if needed:
report.html, verdict.json, the history as lockchaos reads it, and for each violated property the few
ops that show it. It needs the whole history in memory.

--oracle porcupine asks the linearizability checker Porcupine, too, whether the holds exclude each
other, a bounded window at a time. It needs the whole history in memory, and says what it did not
cover.

--together judges all files as one log, such as those of all pods.

--explain prints how the first ten lines of a log are understood, line by line, and nothing else.

A history that was cut is judged by what it certainly shows: a violation stands, anything else is
inconclusive.

Exit status: 0 all passed, 1 a property was violated, 2 inconclusive, 64 a file that is no history.`,
		Example: `  lockchaos check runs/latest/*/history.jsonl
  lockchaos check --reentrant store/hazelcast/latest/history.edn
  lockchaos check --clock-error 50ms audit.csv
  lockchaos check --map 'client=pod,key=resource' audit.csv
  lockchaos check --pattern '` + examplePattern + `' --skip-unmatched app.log`,
		Args: wordCount(1, math.MaxInt, "check needs a history, such as runs/latest/redis-setnx.none.unfenced/history.jsonl"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if second != "" && second != opinion.Name {
				return exit.Misuse(fmt.Errorf("unknown oracle %q: there is only %q", second, opinion.Name))
			}
			reading, err := flags.reading(second != "" || dir != "")
			if err != nil {
				return exit.Misuse(err)
			}
			if dir != "" && len(args) > 1 && !together {
				return exit.Misuse(fmt.Errorf("--report is about one history, and these are %d: check them one by one, each with a folder of its own", len(args)))
			}
			if together {
				return judgeTogether(cmd, args, reading, dir, second != "")
			}
			worst := exit.OK
			var unread []error
			var locks logLocks
			for i, file := range args {
				if i > 0 {
					harmless.Fprintln(cmd.OutOrStdout())
				}
				if explain {
					if err := tellExplained(cmd, file, reading); err != nil {
						unread = append(unread, howToRead(err, cmd, file))
					}
					continue
				}
				j, err := reading.Judge(file, cmd.InOrStdin())
				if err != nil {
					// the others are judged all the same
					unread = append(unread, howToRead(err, cmd, file))
					continue
				}
				locks.add(file, j)
				code, err := tellJudged(cmd, file, j, dir, second != "")
				j.Close()
				if err != nil {
					return err
				}
				worst = exit.Worse(worst, code)
			}
			locks.hint(cmd)
			if len(unread) > 0 {
				return exit.Misuse(errors.Join(unread...))
			}
			return exit.Ended(worst, nil, false)
		},
	}
	cmd.Flags().StringVar(&second, "oracle", "", fmt.Sprintf("ask a second judge about the holds: %s", opinion.Name))
	cmd.Flags().StringVar(&dir, "report", "",
		"write a report of the history into this folder: report.html, verdict.json, and a witness of each property that is violated")
	cmd.Flags().BoolVar(&explain, "explain", false,
		"print how the first ten lines of each log are understood, and judge nothing")
	cmd.Flags().BoolVar(&together, "together", false, "judge all files as one log, such as one of each pod")
	flags.add(cmd.Flags())
	return cmd
}

// judgeTogether judges the files of one log.
func judgeTogether(cmd *cobra.Command, files []string, reading saved.Reading, dir string, ask bool) error {
	j, err := reading.JudgeFiles(files)
	if err != nil {
		return exit.Misuse(howToRead(err, cmd, strings.Join(files, " ")))
	}
	defer j.Close()
	code, err := tellJudged(cmd, strings.Join(files, " "), j, dir, ask)
	if err != nil {
		return err
	}
	return exit.Ended(code, nil, false)
}

// tellExplained prints how the first lines of a log are understood.
func tellExplained(cmd *cobra.Command, file string, reading saved.Reading) error {
	lines, err := reading.Explain(file, cmd.InOrStdin())
	if err != nil {
		return err
	}
	for _, l := range lines {
		harmless.Fprintf(cmd.OutOrStdout(), "line %d: %s\n", l.Line, harmless.Line(l.Text))
	}
	return nil
}

// logLocks are the locks of logs that are judged one by one.
type logLocks struct {
	in     map[string]string // by lock, the first log that has it
	shared []string          // two logs that have one lock, and it
}

// add notes the locks of a log.
func (l *logLocks) add(file string, j *saved.Judged) {
	if !j.History.Header.Translated || len(l.shared) > 0 {
		return
	}
	if l.in == nil {
		l.in = map[string]string{}
	}
	for _, key := range j.History.Keys {
		if first, ok := l.in[key]; ok {
			l.shared = []string{first, file, key}
			return
		}
		l.in[key] = file
	}
}

// hint says that two logs may be pieces of one.
func (l *logLocks) hint(cmd *cobra.Command) {
	if len(l.shared) > 0 {
		harmless.Fprintf(cmd.ErrOrStderr(),
			"lockchaos: %s and %s both tell of the lock %s, and were judged one by one. If they are of one system, judge them as one log (--together).\n",
			harmless.Line(l.shared[0]), harmless.Line(l.shared[1]), harmless.Line(l.shared[2]))
	}
}

// tellJudged prints what was found in a file, writes the report that is asked for, and asks the
// oracle. It returns the exit status.
func tellJudged(cmd *cobra.Command, file string, j *saved.Judged, dir string, ask bool) (int, error) {
	out := cmd.OutOrStdout()
	j.Print(out, file)
	if dir != "" {
		page, err := j.Report(dir, file, cmd.Root().Name(), typed(cmd, "report", "", file))
		if err != nil {
			return 0, err
		}
		harmless.Fprintf(out, "report: %s\n", page)
	}
	if ask {
		if err := opinion.Tell(out, &j.History, j.Verdict); err != nil {
			harmless.Fprintf(cmd.ErrOrStderr(), "lockchaos: %s: %v\n", file, err)
			return exit.Failed, nil
		}
	}
	return exit.OfOutcome(j.Verdict.Outcome), nil
}
