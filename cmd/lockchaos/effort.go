package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/lockchaos/lockchaos/runs"
)

// settle fills in what is not given: a seed, and how many run at once: as many as the machine stands.
func (f *runFlags) settle(flags *pflag.FlagSet) {
	if flags.Lookup("seed") != nil && !flags.Changed("seed") {
		f.Seed = f.Shard.Seed()
	}
	if !flags.Changed("parallel") {
		f.Steady, f.Parallel = runs.DefaultParallel(), runs.CalmParallel()
	}
}

// addEffort adds the flags of every command that runs as many at once as the machine stands, and again what came to nothing.
func (f *runFlags) addEffort(flags *pflag.FlagSet) {
	parallel := flags.Lookup("parallel")
	parallel.Usage = "how many run at once (default: two a processor, and up to five while the machine is calm)"
	parallel.DefValue = "0" // it is told in the text
	flags.IntVar(&f.Retries, "retries", runs.DefaultRetries, "how often a scenario is run again that came to nothing, or that failed on a busy machine; the last time alone")
}

// addShard adds the flag of every command that can run a part of what it names.
func (f *runFlags) addShard(flags *pflag.FlagSet) {
	flags.Var(&f.Shard, "shard", fmt.Sprintf("run one part of several, as 3/8 the third of eight; "+
		"the default of --seed is then %d (merge the runs: lockchaos report --merge)", runs.ShardSeed))
}
