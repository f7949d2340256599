package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/lockchaos/lockchaos/experiments"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs/exit"
)

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
	if n, err := strconv.Atoi(f.until); f.until != experiments.UntilViolated && f.until != experiments.UntilUnexpected && (err != nil || n < 1) {
		return exit.Misuse(fmt.Errorf("--until %q: until what? %s, %s, or a number of violated runs", f.until, experiments.UntilViolated, experiments.UntilUnexpected))
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
