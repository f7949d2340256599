package main

import (
	"github.com/lockchaos/lockchaos/policy"
	"github.com/lockchaos/lockchaos/scenarios"
)

// settings say how scenarios are run.
type settings struct {
	// tool is the program that runs them.
	tool *tool
	seed uint64
	// parallel is how many run at once; 1 at the least.
	parallel int
	// steady is how many run at once on any machine, of parallel; the rest while it is calm. 0: all.
	steady int
	// retries is how often a scenario is run again that came to nothing.
	retries int
	// out is the folder for the runs' folders.
	out string
	// compress: each history is compressed when its scenario is over.
	compress bool
	// noExpect: the properties alone decide, whatever a scenario expects.
	noExpect bool
	// words are the words of the command line that choose the runtime again.
	words []string
	// places tells where the scenarios are written, by their names.
	places map[string]scenarios.Place
	// shard is the part of the plans that is run.
	shard shard
	// policy is what a gate rules by; nil: it is no gate.
	policy *policy.Policy
}
