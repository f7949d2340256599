package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/checker/witness"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/story"
)

func witnessCommand() *cobra.Command {
	var property, out string
	var number int
	cmd := &cobra.Command{
		Use:   "witness HISTORY",
		Short: "Reduce a history to the few ops that show a violation",
		Long: `Takes ops away from a history for as long as the checker still finds the very same violation in what is left, prints that, and writes it as a history
of its own (--out), in which "lockchaos check" finds the violation.

Exit status: 1 with a witness, 0 if nothing is violated, 64 a file that is no history.`,
		Example: "  lockchaos witness runs/latest/redis-setnx.pause-holder.unfenced/history.jsonl --property " +
			checker.LostUpdate + " --out small.jsonl",
		Args: wordCount(1, 1, "witness needs one history, such as runs/latest/redis-setnx.pause-holder.unfenced/history.jsonl"),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := history.ReadFile(args[0])
			if err != nil {
				return exit.Misuse(err)
			}
			opts := checker.Options{Keep: max(number, reports.KeptViolations), KeepDefects: true}
			verdict := checker.Judge(h, opts)
			v, err := chosen(verdict, property, number)
			if property == "" && !cmd.Flags().Changed("number") {
				v, err = reports.Told(reports.Scenario{History: h, Verdict: verdict}), nil
			}
			if err != nil {
				return exit.Misuse(err)
			}
			if v == nil {
				harmless.Fprintln(cmd.OutOrStdout(), "nothing is violated: there is nothing to show")
				return nil
			}
			if err := tellLeast(cmd.OutOrStdout(), h, v, opts, out); err != nil {
				return err
			}
			return exit.With(exit.Violated, nil)
		},
	}
	cmd.Flags().StringVar(&property, "property", "",
		"whose violation (default: the violation that a report tells first)")
	cmd.Flags().IntVar(&number, "number", 1, "which of its violations, in order of time")
	cmd.Flags().StringVar(&out, "out", "", "write the witness to this file, as a history")
	return cmd
}

// tellLeast tells the least part of a history that shows a violation, and
// writes it to a file, if one is named.
func tellLeast(to io.Writer, h *history.History, v *checker.Violation, opts checker.Options, file string) error {
	w, err := witness.Smallest(h, *v, opts)
	if err == nil && file != "" {
		err = reports.WriteFile(file, w.Encode)
	}
	if err == nil {
		story.TellWitness(to, w, v, len(h.Events))
	}
	return err
}

// chosen picks the violation that was asked for; nil: nothing is violated.
func chosen(v checker.Verdict, property string, number int) (*checker.Violation, error) {
	var names []string
	for _, p := range v.Properties {
		names = append(names, p.Name)
		if property != "" && p.Name != property || property == "" && p.Count == 0 {
			continue
		}
		if p.Count == 0 {
			return nil, nil
		}
		if number < 1 || number > len(p.Violations) {
			return nil, fmt.Errorf("%s is violated %d times: there is no number %d", p.Name, p.Count, number)
		}
		return &p.Violations[number-1], nil
	}
	if property != "" {
		return nil, fmt.Errorf("there is no property %q%s; one of %s", property, suggest(property, names), join(names))
	}
	return nil, nil
}

// The scenarios of the demo: one lock and one fault, and only the store
// differs. Their etcd and store are part of lockchaos.
const (
	demoUnfenced = "etcd-lease/pause-holder/unfenced"
	demoFenced   = "etcd-lease/pause-holder/fenced"
)

const (
	demoBegin = `A lock is a lease: its service gives the lock to the next client when the holder has been silent for too long. The holder can't see that.

Here is a real etcd, with four clients that count in a store. The one that holds the lock is frozen for longer than its lease, between its read
and its write, as a garbage collection or a suspended machine would freeze it. It happens on two stores: one takes every write, the other looks at the
fencing token that comes with it.

`
	demoFound = `
What happened on the store without a fence, in as few steps as show it:

`
	demoEnd = `
The lock did the same on both stores. No lock can do better: to its service a frozen holder and a dead one look alike. The store with the fence refused
each late write, since its token was older than one that it had seen. Only that keeps the data whole.

Next: lockchaos exam LOCK, for a lock that you may use (lockchaos list locks), or lockchaos adapter new, for a lock of your own.
`
)

func demoCommand() *cobra.Command {
	var seed uint64
	var out string
	var closed bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "In 10 seconds: why a lock alone is not enough, and what a fence does",
		Long: `Freezes the holder of a lock on a real etcd, once with a store that takes every write and once with
one that compares fencing tokens. It explains what happened, and opens the report if there is a
browser. Nothing needs to be installed.

Exit status: as of lockchaos run.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := cmd.OutOrStdout()
			harmless.Fprintf(w, demoBegin)
			args := []string{demoUnfenced, demoFenced, "--runtime", runtimes.Local, "--out", out}
			if cmd.Flags().Changed("seed") {
				args = append(args, "--seed", strconv.FormatUint(seed, 10))
			}
			run := runCommand()
			run.SilenceErrors, run.SilenceUsage = true, true
			run.SetOut(w)
			run.SetErr(cmd.ErrOrStderr())
			run.SetArgs(args)
			if err := run.ExecuteContext(cmd.Context()); err != nil {
				return err
			}
			latest := filepath.Join(out, runs.LatestLink)
			if err := tellDemo(w, latest); err != nil {
				return err
			}
			if !closed && screen.New(w).Live {
				openPage(cmd.Context(), filepath.Join(latest, reports.IndexFile))
			}
			return nil
		},
	}
	addSeed(cmd.Flags(), &seed)
	addOut(cmd.Flags(), &out, "folder for the run's folder")
	cmd.Flags().BoolVar(&closed, "no-open", false, "do not open the report")
	return cmd
}

// tellDemo tells what happened on the store without a fence, and what follows from both.
func tellDemo(w io.Writer, dir string) error {
	h, _, err := runs.ReadHistory(dir, runs.FolderOf(demoUnfenced))
	if err != nil {
		return err
	}
	opts := checker.Options{Keep: reports.KeptViolations, KeepDefects: true}
	if v := reports.Told(reports.Scenario{History: h, Verdict: checker.Judge(h, opts)}); v != nil {
		harmless.Fprintf(w, demoFound)
		if err := tellLeast(w, h, v, opts, ""); err != nil {
			return err
		}
	}
	_, err = harmless.Fprintf(w, demoEnd)
	return err
}

// openPage shows a page in the user's browser, where there is one. The run has
// told where the page is, so a failure is of no interest.
func openPage(ctx context.Context, page string) {
	if opener, err := exec.LookPath("xdg-open"); err == nil {
		_ = exec.CommandContext(ctx, opener, page).Run()
	}
}
