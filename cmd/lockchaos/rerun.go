package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/lockchaos/lockchaos/internal/experiments"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/reports"
)

// sameWhere are the flags of a saved run that say where it ran, unless others are given.
func (f *runFlags) sameWhere(cmd *cobra.Command, run *runs.Record) error {
	for _, name := range whereFlags {
		if cmd.Flags().Changed(name) {
			return nil
		}
	}
	f.taken = len(run.Where) > 0
	err := cmd.Flags().ParseAll(run.Where, func(flag *pflag.Flag, value string) error {
		if !slices.Contains(whereFlags, flag.Name) { // the record may be somebody else's
			return fmt.Errorf("it ran with --%s, which does not say where", flag.Name)
		}
		return cmd.Flags().Set(flag.Name, value)
	})
	if err != nil {
		return fmt.Errorf("%s: where: %w", runs.RecordFile, err)
	}
	return nil
}

// addYes adds the flag of every command that runs saved plans.
func (f *runFlags) addYes(flags *pflag.FlagSet) {
	flags.BoolVar(&f.yes, "yes", false, "start what the saved plan names, without a question: an adapter, commands of hooks, containers")
}

// confirm asks before a saved plan starts what this user has not started
// before. Where nobody can be asked, it refuses.
func (f *runFlags) confirm(cmd *cobra.Command) func(starts []string) error {
	return func(starts []string) error {
		unknown := runs.Unknown(starts)
		if len(unknown) == 0 {
			return nil
		}
		var list strings.Builder
		for _, what := range unknown {
			list.WriteString("  " + harmless.Line(redact.Text(what)) + "\n")
		}
		if f.yes {
			harmless.Fprintf(cmd.ErrOrStderr(), "the saved plan starts:\n%s", harmless.Block(list.String(), ""))
			return nil
		}
		in, terminal := cmd.InOrStdin().(*os.File)
		if !terminal || !term.IsTerminal(int(in.Fd())) {
			return exit.Misuse(fmt.Errorf("the saved plan starts what you have not started on this machine before:\n%sIf you trust whoever made it, give --yes", list.String()))
		}
		harmless.Fprintf(cmd.ErrOrStderr(),
			"The saved plan starts what you have not started on this machine before:\n%sGo on? [y/N] ",
			harmless.Block(list.String(), ""))
		answer, _ := bufio.NewReader(in).ReadString('\n')
		if word := strings.ToLower(strings.TrimSpace(answer)); word != "y" && word != "yes" {
			return exit.Misuse(errors.New("nothing was started"))
		}
		return nil
	}
}

func rerunCommand() *cobra.Command {
	f := newRunFlags()
	cmd := &cobra.Command{
		Use:   "rerun DIR",
		Short: "Run saved plans again, and say whether the verdicts are the same",
		Long: `Runs the plan of a scenario's folder again, or all plans of a run's folder: the same scenario, the
same seed, on the same runtime. Then it compares the new verdicts with those of the folder, both
judged by this version of the checker.

A seed repeats the plan: think times, lengths and spacing of faults. It does not repeat the
schedule, so a verdict may differ by chance. "lockchaos run --plan DIR/plan.yaml --repeat 20" shows
how often.

A run of --runtime sim repeats everything: its history must be the same, byte for byte. It is refused
if the adapter or the simulator has changed.

A plan can name commands: an adapter, hooks of an application, images. Those that you have not
started on this machine before are shown, and nothing runs until you agree, or give --yes.

Exit status: 0 the verdicts are the same, 1 one differs, 2 one that was decided is decided no more, 3 the harness or a service failed.`,
		Example: `  lockchaos rerun runs/latest/redis-setnx.pause-holder.unfenced
  lockchaos rerun runs/latest`,
		Args: oneFolder("rerun"),
		RunE: func(cmd *cobra.Command, args []string) error {
			before, err := experiments.Load(ours(), args[0])
			if err != nil {
				return exit.Misuse(err)
			}
			if err := f.sameWhere(cmd, before.Run); err != nil {
				return exit.Misuse(err)
			}
			f.settle(cmd.Flags())
			f.consent = f.confirm(cmd)
			return f.runAgain(before, cmd)
		},
	}
	f.addWhere(cmd.Flags())
	f.addEffort(cmd.Flags())
	f.addThen(cmd.Flags())
	f.addYes(cmd.Flags())
	return cmd
}

// oneFolder is for commands that take a folder of a run.
func oneFolder(verb string) cobra.PositionalArgs {
	return wordCount(1, 1, verb+" needs one folder, such as runs/latest or runs/latest/redis-setnx.none.unfenced")
}

// runAgain runs the plans again and compares.
func (f *runFlags) runAgain(s *experiments.Saved, cmd *cobra.Command) error {
	ctx, out := cmd.Context(), screen.New(cmd.OutOrStdout())
	f.NoExpect, f.Seed = s.Run.NoExpect, s.Run.Seed
	if err := f.checkWhere(); err != nil {
		return err
	}
	return f.there(ctx, s.Plans, out.Say, func(where runtimes.Runtime) error {
		run := &runs.Run{Settings: f.complete(), Where: where, Name: s.Run.Suite, About: s.Run.About, Plans: s.Plans,
			Screen: out, Command: reports.Shell(os.Args[0], "rerun", s.Named)}
		return f.then.Found(ctx, run, experiments.Rerun(ctx, s, run))
	})
}
