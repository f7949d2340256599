package main

import (
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/checker/witness"
	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/story"
	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/runs/runtimes"
	"github.com/lockchaos/lockchaos/runs/screen"
)

// The scenarios of the demo: one lock and one fault, and only the store differs. Their etcd and store are part of lockchaos.
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
	cmd.Flags().Uint64Var(&seed, "seed", 0, "seed of every random draw (default: a new one, printed)")
	cmd.Flags().StringVar(&out, "out", "runs", "folder for the run's folder")
	cmd.Flags().BoolVar(&closed, "no-open", false, "do not open the report")
	return cmd
}

// tellDemo tells what happened on the store without a fence, and what follows from both.
func tellDemo(w io.Writer, dir string) error {
	h, err := history.ReadFile(runs.HistoryIn(filepath.Join(dir, runs.FolderOf(demoUnfenced))))
	if err != nil {
		return err
	}
	opts := checker.Options{Keep: reports.KeptViolations, KeepDefects: true}
	verdict := checker.Judge(h, opts)
	if v := reports.Told(reports.Scenario{History: h, Verdict: verdict}); v != nil {
		least, err := witness.Smallest(h, *v, opts)
		if err != nil {
			return err
		}
		harmless.Fprintf(w, demoFound)
		story.TellWitness(w, least, v, len(h.Events))
	}
	_, err = harmless.Fprintf(w, demoEnd)
	return err
}

// openPage shows a page in the user's browser, where there is one. The run has told where the page is, so a failure is of no interest.
func openPage(ctx context.Context, page string) {
	if opener, err := exec.LookPath("xdg-open"); err == nil {
		_ = exec.CommandContext(ctx, opener, page).Run()
	}
}
