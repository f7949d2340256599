package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/policy"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

func gateCommand() *cobra.Command {
	f := newRunFlags()
	cmd := &cobra.Command{
		Use:   "gate [FILE]",
		Short: "Run what a policy asks for, and say whether it is good enough",
		Long: `Reads a policy (` + policy.DefaultFile + `, or FILE), runs its scenarios as often as it wants, and rules on them: which properties must hold, which violations are
known and until when, and what is done about what is left open. docs/ci.md explains the file; ` + "`lockchaos init`" + ` writes one.

The run's folder holds, beside what every run leaves, gate.json: the ruling and its findings. The repetitions of a scenario have seeds that follow each other.

Exit status: 0 the gate is passed; 1 a property that must hold was violated, or a known violation has expired; 2 something is left open, and the policy does not
let that pass; 3 the harness or a service failed; 64 a mistake in the policy or on the command line.`,
		Example: `  lockchaos init && lockchaos gate
  lockchaos gate --dry-run
  lockchaos gate ci/locks.yaml --format github
  lockchaos gate --seed 7 --runtime docker`,
		Args: wordCount(0, 1, "gate takes one policy"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Names = args
			f.settle(cmd.Flags())
			return f.shown(cmd, f.gate)
		},
	}
	flags := cmd.Flags()
	f.addWhere(flags)
	f.addEffort(flags)
	f.measured.add(flags)
	flags.Uint64Var(&f.Seed, "seed", 0, "seed of the first repetition (default: the policy's, else a new one, printed)")
	f.addShard(flags)
	f.outputFlags.add(flags)
	return cmd
}

// gate runs what the policy asks for, and rules on it.
func (f *runFlags) gate(cmd *cobra.Command, out *screen.Screen) (err error) {
	file := policy.DefaultFile
	if len(f.Names) > 0 {
		file = f.Names[0]
	}
	ctx := cmd.Context()
	if err := errors.Join(f.checkWhere(), f.checkDry()); err != nil {
		return err
	}
	if f.Policy, f.Places, err = f.ReadPolicy(ctx, file); err != nil {
		return exit.Misuse(err)
	}
	if r := f.Policy.Retries; r != nil && !cmd.Flags().Changed("retries") {
		f.Retries = *r
	}
	if f.Policy.Seed != nil && !cmd.Flags().Changed("seed") {
		f.Seed = *f.Policy.Seed
	}
	all := f.Policy.Runs
	for i := range all {
		one := []scenarios.Plan{{Scenario: all[i].Scenario}}
		if err := runs.WithoutSecrets(one); err != nil {
			return err
		}
		all[i].Scenario = one[0].Scenario
	}
	g := &runs.Gate{Settings: f.complete(), File: file, Screen: out}
	if err := g.Shard.Cut(g.Plans(0), func(i int) time.Duration {
		return scenarios.LengthOf(scenarios.Plan{Scenario: all[i].Scenario}) * time.Duration(all[i].Repetitions)
	}); err != nil {
		return err
	}
	if f.dry {
		return g.Preview(cmd.OutOrStdout())
	}
	g.Command = f.again([]string{os.Args[0], "gate", file, "--seed", strconv.FormatUint(f.Seed, 10)})
	return f.there(ctx, g.Shard.Part(g.Plans(0)), out.Say, func(where runtimes.Runtime) error {
		g.Where, g.Parallel = where, f.Parallel
		return g.Do(ctx)
	})
}

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
			harmless.Fprintf(cmd.OutOrStdout(), "%s is written; next: %s\n", file,
				reports.Shell(os.Args[0], "gate", file))
			return nil
		},
	}
}
