package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockchaos/lockchaos/internal/experiments"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/metrics"
	"github.com/lockchaos/lockchaos/internal/runs/pick"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/reports"
)

// settle fills in what is not given: a seed, and how many run at once: as many
// as the machine stands.
func (f *runFlags) settle(flags *pflag.FlagSet) {
	if flags.Lookup("seed") != nil && !flags.Changed("seed") {
		f.Seed = f.Shard.Seed()
	}
	if !flags.Changed("parallel") {
		f.Steady, f.Parallel = runs.DefaultParallel(), runs.IdleParallel()
	}
}

// addEffort adds the flags of every command that runs as many at once as the machine stands, again
// what came to nothing, and keeps the histories.
func (f *runFlags) addEffort(flags *pflag.FlagSet) {
	parallel := flags.Lookup("parallel")
	parallel.Usage = "how many run at once (default: two a processor, and up to five while the machine is calm)"
	parallel.DefValue = "0" // it is told in the text
	flags.BoolVar(&f.Compress, "compress", false,
		"compress each history when its scenario is over (history.jsonl.zst, about a sixth); every command reads it as it is")
	flags.IntVar(&f.Retries, "retries", runs.DefaultRetries,
		"how often a scenario is run again that came to nothing, or that failed on a busy machine; the last time alone, if the machine was busy")
}

// addShard adds the flags of every command that can run a part of what it names, or none of it.
func (f *runFlags) addShard(flags *pflag.FlagSet) {
	flags.BoolVar(&f.dry, "dry-run", false, "say what would run, and how long it takes; run nothing")
	flags.Var(&f.Shard, "shard", fmt.Sprintf("run one part of several, as 3/8 the third of eight; "+
		"the default of --seed is then %d (merge the runs: lockchaos report --merge)", runs.ShardSeed))
}

// addSelection adds the flags of `run` and `list scenarios` that leave fewer scenarios.
func addSelection(cmd *cobra.Command, s *pick.Selection) {
	flags := cmd.Flags()
	flags.StringSliceVar(&s.Locks, "lock", nil, "only scenarios of these locks (lockchaos list locks)")
	flags.StringSliceVar(&s.Faults, "fault", nil,
		`only scenarios with these kinds of faults (lockchaos list faults), or "`+pick.NoFault+`"`)
	flags.BoolVar(&s.LastFailed, "last-failed", false,
		"only scenarios of the latest run (in --out) that did not come out as they should: not as expected, inconclusive, or failed")
	_ = cmd.RegisterFlagCompletionFunc("fault", func(_ *cobra.Command, _ []string, typed string) ([]string,
		cobra.ShellCompDirective) {
		return completeList(typed, pick.FaultWords())
	})
}

// matches reports whether a scenario's name fits a pattern: it contains the
// pattern, or, with * for any text, is of its form.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return strings.Contains(name, pattern)
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// repeatFlags say how often a run is repeated.
type repeatFlags struct {
	repeat int
	until  string
}

// mostRepetitions bounds --repeat; untilBound is how often is tried at most with --until alone.
const (
	mostRepetitions = 10_000
	untilBound      = 100
)

func (f *repeatFlags) add(flags *pflag.FlagSet) {
	flags.IntVar(&f.repeat, "repeat", 1, "run everything so many times, with the seeds that follow --seed")
	flags.StringVar(&f.until, "until", "", fmt.Sprintf(`repeat until a run is "violated" (a property was, expected or not) or "unexpected" (not what its scenario expects), or until so
many runs were violated; but not more often than --repeat (%d if it is not given)`, untilBound))
}

// check completes the flags and refuses what makes no sense; sharded: others run the rest.
func (f *repeatFlags) check(sharded bool) error {
	if f.repeat < 1 || f.repeat > mostRepetitions {
		return exit.Misuse(fmt.Errorf("--repeat %d: there may be 1 to %d runs", f.repeat, mostRepetitions))
	}
	if f.until == "" {
		return nil
	}
	if sharded {
		return exit.Misuse(errors.New("--until goes by what a run shows, and a shard does not know of the others: give no --shard beside it"))
	}
	if n, err := strconv.Atoi(f.until); f.until != experiments.UntilViolated &&
		f.until != experiments.UntilUnexpected && (err != nil || n < 1) {
		return exit.Misuse(fmt.Errorf("--until %q: until what? %s, %s, or a number of violated runs", f.until,
			experiments.UntilViolated, experiments.UntilUnexpected))
	}
	if f.repeat == 1 {
		f.repeat = untilBound
	}
	return nil
}

// words are those of the command line that repeat the same again.
func (f *repeatFlags) words() string {
	line := " --repeat " + strconv.Itoa(f.repeat)
	if f.until != "" {
		line += " --until " + reports.Shell(f.until)
	}
	return line
}

func outputForms() []string { return []string{screen.Text, screen.JSON, screen.GitHub} }

// outputFlags say in which form a run is told.
type outputFlags struct {
	format         string
	json           bool
	quiet, verbose bool
}

func (f *outputFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.format, "format", screen.Text,
		`"text"; "json", one object a line (docs/schema/progress.json); "github", text with annotations and, in $`+
			screen.SummaryVar+`, a job summary`)
	flags.BoolVar(&f.json, "json", false, "the same as --format json")
	flags.BoolVarP(&f.quiet, "quiet", "q", false,
		"print nothing while it runs, and at the end only what needs attention (and a gate's ruling)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print each phase of each scenario, and each property's outcome")
}

// check completes the flags and refuses what makes no sense.
func (f *outputFlags) check() error {
	if f.json {
		if f.format != screen.Text && f.format != screen.JSON {
			return exit.Misuse(fmt.Errorf("--json is --format json: give no --format %s beside it", f.format))
		}
		f.format = screen.JSON
	}
	if !slices.Contains(outputForms(), f.format) {
		return exit.Misuse(fmt.Errorf("unknown --format %q%s (there are %s)", f.format, suggest(f.format, outputForms()),
			join(outputForms())))
	}
	if f.quiet && f.verbose {
		return exit.Misuse(errors.New("--quiet or --verbose, not both"))
	}
	return nil
}

// open makes the screen that the flags ask for.
func (f *outputFlags) open(cmd *cobra.Command) (*screen.Screen, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	return screen.Open(cmd.OutOrStdout(), f.format, f.quiet, f.verbose)
}

// metricsFlag is the address at which metrics are served; empty: nowhere.
type metricsFlag struct{ addr string }

func (f *metricsFlag) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.addr, "metrics", "",
		"serve metrics for Prometheus at this address, such as 127.0.0.1:9464, and send them by OTLP where OTEL_EXPORTER_OTLP_ENDPOINT is set")
}

// serve makes a set and serves it, if that is wanted, until stop is called.
func (f *metricsFlag) serve(cmd *cobra.Command, set func() *metrics.Set) (stop func(), err error) {
	if f.addr == "" {
		return func() {}, nil
	}
	at, end, err := set().Serve(f.addr)
	if err != nil {
		return nil, err
	}
	harmless.Fprintf(cmd.ErrOrStderr(), "metrics: http://%s/metrics\n", at)
	return func() {
		if err := end(); err != nil {
			harmless.Fprintf(cmd.ErrOrStderr(), "%v\n", err)
		}
	}, nil
}
