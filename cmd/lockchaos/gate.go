package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/policy"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/runtimes"
	"github.com/lockchaos/lockchaos/scenarios"
)

func gateCommand() *cobra.Command {
	f := runFlags{scale: scaleTest, repeatFlags: repeatFlags{repeat: 1}}
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
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Misuse(errors.New("gate takes one policy"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			file := policy.DefaultFile
			if len(args) > 0 {
				file = args[0]
			}
			f.crowd(cmd.Flags())
			return runGate(cmd, file, f)
		},
	}
	flags := cmd.Flags()
	f.addWhere(flags)
	f.addEffort(flags)
	f.addCompress(flags)
	flags.Uint64Var(&f.Seed, "seed", 0, "seed of the first repetition (default: the policy's, else a new one, printed)")
	f.addDryRun(flags)
	f.addShard(flags)
	f.outputFlags.add(flags)
	return cmd
}

func runGate(cmd *cobra.Command, file string, f runFlags) (err error) {
	ctx := cmd.Context()
	out, err := f.open(cmd)
	if err != nil {
		return err
	}
	defer func() { err = out.Annotate(err) }()
	if err := f.checkWhere(); err != nil {
		return err
	}
	if f.Policy, f.Places, err = loadPolicy(ctx, file, f, out.Say); err != nil {
		return exit.Misuse(err)
	}
	if r := f.Policy.Retries; r != nil && !cmd.Flags().Changed("retries") {
		f.Retries = *r
	}
	switch {
	case cmd.Flags().Changed("seed"):
	case f.Policy.Seed != nil:
		f.Seed = *f.Policy.Seed
	default:
		f.Seed = f.Shard.Seed()
	}
	for i := range f.Policy.Runs {
		one := []scenarios.Plan{{Scenario: f.Policy.Runs[i].Scenario}}
		if err := runs.WithoutSecrets(one); err != nil {
			return err
		}
		f.Policy.Runs[i].Scenario = one[0].Scenario
	}
	g := &runs.Gate{Settings: f.complete(), File: file, Screen: out}
	if err := g.Shard.Cut(g.Plans(0), func(i int) time.Duration {
		return scenarios.LengthOf(scenarios.Plan{Scenario: f.Policy.Runs[i].Scenario}) * time.Duration(f.Policy.Runs[i].Repetitions)
	}); err != nil {
		return err
	}
	if f.dry {
		return gateDryRun(cmd.OutOrStdout(), g)
	}
	again := append([]string{os.Args[0], "gate", file, "--seed", strconv.FormatUint(f.Seed, 10)}, f.whereWords()...)
	g.Command = reports.Shell(append(again, f.Shard.Words()...)...)
	if g.Where, err = runtimes.Choose(ctx, f.Where, kindOf, g.Shard.Part(g.Plans(0)), out.Say); err != nil {
		return err
	}
	if f.Runtime == runtimes.Compose {
		g.Parallel = 1 // its services are there once
	}
	return errors.Join(g.Do(ctx), g.Where.Close())
}

// loadPolicy reads a policy, with the place of each of its scenarios: the line in the file of a user's own, else the policy's line that names it. A lock of the user's own
// is met once, where the flags say that the run is to be.
func loadPolicy(ctx context.Context, file string, f runFlags, say func(string)) (*policy.Policy, map[string]scenarios.Place, error) {
	known := catalogue()
	c := policy.Catalogue{Services: append([]string{scenarios.NoService}, known.Services...)}
	places := map[string]scenarios.Place{}
	var own *ownLock
	c.Meet = func(lock policy.Lock) (err error) {
		f.lockCmd, f.service, f.ttl = lock.Command, lock.Service, lock.TTL.Std()
		own, err = f.meet(ctx, say)
		return err
	}
	c.Find = func(word string) ([]scenarios.Scenario, error) {
		if word == randomSuite {
			return nil, fmt.Errorf("suite %s is drawn anew for each seed, so a policy can't name what it shows: run it beside the gate", randomSuite)
		}
		if runs.IsFile(word) && !filepath.IsAbs(word) {
			word = filepath.Join(filepath.Dir(file), word) // as everything that a file names
		}
		chosen, err := choose([]string{word})
		if err != nil {
			return nil, err
		}
		if runs.IsFile(word) {
			for name, p := range ours().PlacesOf([]string{word}, "") {
				if !p.Builtin {
					places[name] = p
				}
			}
		}
		if own == nil {
			return chosen.Scenarios, nil
		}
		chosen, err = own.replacing(chosen, say)
		return chosen.Scenarios, err
	}
	var can map[string]bool // tried for the first exam
	c.Examine = func(e policy.Exam) (_ []scenarios.Scenario, err error) {
		if can == nil {
			if can, err = possibleFaults(ctx, f, say); err != nil {
				return nil, err
			}
		}
		return f.examined(e, own, can, say)
	}
	p, err := policy.Load(file, c)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range p.Runs {
		if _, own := places[r.Name]; !own {
			places[r.Name] = scenarios.Place{File: file, Line: r.Line}
		}
	}
	return p, places, nil
}

// examined are the attacks of an exam that a policy asks for; own is the policy's lock, can are the faults that can be done here. say tells which
// attacks make no sense, and why.
func (f runFlags) examined(e policy.Exam, own *ownLock, can map[string]bool, say func(string)) ([]scenarios.Scenario, error) {
	x := examFlags{runFlags: f, short: e.Short, attacks: e.Attacks}
	table, err := x.table()
	if err != nil {
		return nil, err
	}
	var lock scenarios.Examinee
	if e.Lock == policy.ExamOwn {
		lock = own.examinee()
	} else if lock, err = builtinExaminee(e.Lock, 0); err != nil {
		return nil, err
	}
	all, not, err := x.attacksOn(lock, table, can)
	if err != nil {
		return nil, err
	}
	for _, line := range reports.ExamOf(lock.Base.Lock, not).Inapplicable() {
		say(lock.Base.Lock + ": " + line)
	}
	return all, nil
}
