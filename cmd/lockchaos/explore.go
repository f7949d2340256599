package main

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockchaos/lockchaos/clients/shell"
	"github.com/lockchaos/lockchaos/internal/exhaustive"
	"github.com/lockchaos/lockchaos/internal/experiments"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/reports"
)

func exploreCommand() *cobra.Command {
	f := newRunFlags()
	x := experiments.Exploring{Tool: ours()}
	complete := false
	cmd := &cobra.Command{
		Use:   "explore",
		Short: "Search schedules in virtual time until a lock in Go shows a defect",
		Long: `Compiles the adapter in the folder of --lock-go, and runs it in virtual time with one seed after the
other, on all cores. Each seed draws its own faults and its own schedule. Seeds that show an order of
events that was not seen before are varied further.

The search stops at the first certain defect of the lock. A holder that outlives its lease is counted
and not hunted: no lease prevents it. What is found is shrunk, and written as a plan that
"lockchaos run --plan" repeats exactly. With --then local it is then tried on the real service.

With --complete nothing is drawn. The smallest application runs once undisturbed. Then every fault of a
list is tried at every place of that run: each call of a client to the outside, each segment of the
network. A report says what stood and what fell. It goes on from its journal (--corpus, --fresh).
With --faults 2 a second fault then strikes behind each first one that the lock stood, until --for is
over: first behind those that changed what clients see in ways of their own.

Exit status: 0 nothing was found, 1 a defect, 2 no seed came to its end, 3 the search failed.`,
		Example: `  lockchaos explore --lock-go ./my-lock --for 2m
  lockchaos explore --lock-go ./my-lock --then local
  lockchaos explore --complete --lock-go ./my-lock
  lockchaos explore --complete --faults 2 --for 2h --lock-go ./my-lock
  lockchaos explore --lock-go examples/go/redsync --service redis-five --for 10m --seed 1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.Runtime = runtimes.Virtual
			x.Seed = f.Seed
			if complete {
				settleComplete(cmd.Flags(), &x)
			} else if !cmd.Flags().Changed("seed") {
				x.Seed = f.Shard.Seed()
			} else if !cmd.Flags().Changed("corpus") {
				x.Corpus = ""
			}
			if err := f.checkOwn(); err != nil {
				return err
			}
			if x.Faults < 1 || x.Faults > 2 || x.Faults == 2 && !complete {
				return exit.Misuse(errors.New("--faults is 1 or 2, and 2 needs --complete"))
			}
			if f.Own.Go == "" || x.For <= 0 || x.Length < time.Second || x.Cores < 1 {
				return exit.Misuse(errors.New("explore needs --lock-go DIR, some time (--for), a second of --length or more, and a core (--parallel)"))
			}
			x.Out = screen.New(cmd.OutOrStdout())
			lock, err := f.Own.Meet(cmd.Context(), f.Where,
				func(name string) bool { _, err := ours().Lock(name); return err == nil })
			if err != nil {
				return err
			}
			x.Lock = lock
			f.Parallel = x.Cores
			if x.Then, err = experiments.NewReplay(cmd.Context(), f.complete(), f.then, f.Own, x.Out); err != nil {
				return err
			}
			if complete {
				return x.Complete(cmd.Context(), f.complete(), completeCommand(&f, &x))
			}
			return x.Do(cmd.Context())
		},
	}
	flags := cmd.Flags()
	addSeed(flags, &f.Seed)
	f.addOwn(flags, "", "lease of the lock (default: 500ms)")
	for _, name := range []string{"lock-cmd", shell.AcquireFlag, shell.ReleaseFlag, shell.RenewFlag, shell.HeldFlag,
		shell.DeclareFlag} {
		_ = flags.MarkHidden(name) // the simulation compiles locks
	}
	flags.DurationVar(&x.For, "for", 2*time.Minute, "how long to search")
	flags.Uint64Var(&x.Most, "seeds", 0, "how many seeds to try at most (default: as many as the time allows)")
	flags.DurationVar(&x.Length, "length", 5*time.Second, "virtual time of each run")
	flags.IntVar(&x.Cores, "parallel", runtime.NumCPU(),
		fmt.Sprintf("how many seeds to try at once (default: one a processor, here %d)", runtime.NumCPU()))
	flags.StringVar(&x.Corpus, "corpus", experiments.UsualCorpus, `folder of the corpus: the search starts from it, and keeps there the plans that show new orders of events;
"cache" is one for each version of the adapter, in the user's cache. With --seed there is none unless it is named: the same search again`)
	flags.BoolVar(&x.Fresh, "fresh", false, "empty the corpus first")
	flags.BoolVar(&complete, "complete", false, "try each fault at each place of the smallest application, until all are tried or --for is over")
	flags.IntVar(&x.Faults, "faults", 1, "with --complete: how many faults strike a run: 1, or 2 when all single ones are tried")
	f.addThen(flags)
	addOut(flags, &f.Out, runsFolder+" of --then")
	flags.StringVar(&x.File, "write", "",
		"file for the plan of a defect (default: the names of the lock and the property, and .plan.yaml, here)")
	return cmd
}

// settleComplete gives a complete search its own defaults: any time that it takes, and the same
// draws each time.
func settleComplete(given *pflag.FlagSet, x *experiments.Exploring) {
	if !given.Changed("for") {
		x.For = exhaustive.AnyTime
	}
	if !given.Changed("seed") {
		x.Seed = 1
	}
}

// completeCommand is what the user would type to have a complete search again.
func completeCommand(f *runFlags, x *experiments.Exploring) string {
	words := []string{x.Tool.Program, "explore", "--complete", "--lock-go", f.Own.Go, "--service", f.Own.Service}
	if f.Own.TTL > 0 {
		words = append(words, "--ttl", f.Own.TTL.String())
	}
	if x.Faults > 1 {
		words = append(words, "--faults", strconv.Itoa(x.Faults), "--for", x.For.String())
	}
	return reports.Shell(append(words, "--seed", strconv.FormatUint(x.Seed, 10))...)
}

// addThen adds the flags of every command that can replay a simulated finding.
func (f *runFlags) addThen(flags *pflag.FlagSet) {
	flags.StringVar(&f.then.Where, "then", "",
		`replay each certain defect that a simulation shows on the real service: "local", with --lock-go compiled for this machine`)
	flags.IntVar(&f.then.Tries, "tries", 5, "how often --then replays it, each time with another seed")
}
