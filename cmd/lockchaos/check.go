package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/reports"
)

func checkCommand() *cobra.Command {
	second, dir := "", ""
	var flags foreignFlags
	cmd := &cobra.Command{
		Use:   "check HISTORY…",
		Short: "Judge saved histories again, or those of other tools and production logs",
		Long: `Judges each history by its properties alone, whatever was expected of it, and prints the verdict. "-" is the standard input. A history
that was compressed by Zstandard (.zst) is read as it is.

Read are the histories of lockchaos, Jepsen (EDN) and Porcupine (JSON), and audit logs in CSV or JSON lines, whose columns --map names and whose words
--events explains where they are not the usual ones. Most flags are about those: docs/foreign.md has examples of each.

With --report DIR, a report of the history is written into that folder, which is made if it is not there: report.html, verdict.json, the history as
lockchaos reads it, and for each property that is violated the few ops that show it. It needs the whole history in memory.

With --oracle porcupine, the linearizability checker Porcupine is asked too whether the holds exclude each other, a bounded window at a time. It needs the
whole history in memory, and says what it did not cover.

A history that was cut is judged for what it certainly shows: a violation stands, anything else is inconclusive.

Exit status: 0 all passed, 1 a property was violated, 2 inconclusive, 64 a file that is no history.`,
		Example: `  lockchaos check runs/latest/*/history.jsonl
  lockchaos check --reentrant store/hazelcast/latest/history.edn
  lockchaos check --map time=ts,client=pod,event=action,key=resource,token=fence --clock-error 50ms audit.csv`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("check needs a history, such as runs/latest/redis-setnx.none.unfenced/history.jsonl"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if second != "" && second != oracleName {
				return usage(fmt.Errorf("unknown oracle %q: there is only %q", second, oracleName))
			}
			if _, err := flags.options(); err != nil {
				return usage(err)
			}
			if dir != "" && len(args) > 1 {
				return usage(fmt.Errorf("--report is about one history, and these are %d: check them one by one, each with a folder of its own", len(args)))
			}
			worst := exitOK
			var unread []error
			for i, file := range args {
				if i > 0 {
					harmless.Fprintln(cmd.OutOrStdout())
				}
				j, err := judgeFile(file, cmd.InOrStdin(), &flags, second != "" || dir != "")
				if err != nil {
					unread = append(unread, err) // the others are judged all the same
					continue
				}
				printVerdict(cmd.OutOrStdout(), file, &j)
				worst = worse(worst, outcomeStatus(j.verdict.Outcome))
				if dir != "" {
					page, err := reportOn(dir, cmd.Root().Name(), file, &j)
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
					worst = exitFailed
				}
			}
			if len(unread) > 0 {
				return usage(errors.Join(unread...))
			}
			if worst != exitOK {
				return &status{code: worst}
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

// shownViolations is how many violations of a property check prints.
const shownViolations = 3

func printVerdict(w io.Writer, file string, j *judgedFile) {
	h, v := j.whole.Header, j.verdict
	harmless.Fprintf(w, "%s\n%s: %s", file, h.Scenario, v.Outcome)
	if v.Severity != checker.SeverityNone {
		harmless.Fprintf(w, ", %s", v.Severity)
	}
	if v.Truncated {
		io.WriteString(w, " (truncated history)")
	}
	harmless.Fprintf(w, "\n")
	for _, text := range h.StandIns {
		harmless.Fprintf(w, "  STAND-IN: %s\n", text)
	}
	j.preamble(w)
	st := v.Stats
	harmless.Fprintf(w, "  %d grants, %d contended hand-overs; writes: %d accepted, %d of them stale, %d refused\n", st.Grants, st.Handovers, st.Accepted,
		st.Stale, st.Refused)
	if text := reports.Exclusive(v); text != "" {
		harmless.Fprintf(w, "  %s\n", text)
	}
	printTimings(w, st)
	table := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	for _, p := range v.Properties {
		harmless.Fprintf(table, "  %s\t%s\t", p.Name, p.Outcome)
		if p.Count > 0 {
			harmless.Fprintf(table, "%d×", p.Count)
		}
		harmless.Fprintf(table, "\t%s\n", p.Why)
	}
	table.Flush()
	for _, line := range reports.PatternLines(v) {
		harmless.Fprintf(w, "  %s\n", line)
	}
	for _, p := range v.Properties {
		for i := range p.Violations[:min(len(p.Violations), shownViolations)] {
			harmless.Fprintf(w, "  ! %s\n", j.tell(&p.Violations[i]))
		}
		if more := p.Count - shownViolations; more > 0 {
			harmless.Fprintf(w, "    … and %d more of %s\n", more, p.Name)
		}
	}
	for _, reason := range v.Reasons {
		harmless.Fprintf(w, "  ? %s\n", reason)
	}
}

// printTimings prints what took how long.
func printTimings(w io.Writer, st checker.Stats) {
	rows := reports.TimingRows(st)
	if len(rows) == 0 {
		return
	}
	table := tabwriter.NewWriter(w, 2, 0, 2, ' ', tabwriter.AlignRight)
	io.WriteString(table, "\tcount\tp50\tp95\tp99\tlongest\t\n")
	for _, r := range rows {
		harmless.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t\n", r.What, r.Count, r.P50, r.P95, r.P99, r.Max)
	}
	table.Flush()
}

// outcomeStatus is the exit status of a judgement by properties alone.
func outcomeStatus(o checker.Outcome) int {
	switch o {
	case checker.Pass:
		return exitOK
	case checker.Violated:
		return exitViolated
	}
	return exitInconclusive
}

// worse returns the graver of two exit statuses: a failed harness first, then a violation, then an inconclusive run.
func worse(a, b int) int {
	for _, s := range []int{exitFailed, exitViolated, exitInconclusive} {
		if a == s || b == s {
			return s
		}
	}
	return exitOK
}
