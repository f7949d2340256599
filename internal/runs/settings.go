package runs

import (
	"github.com/lockchaos/lockchaos/internal/policy"
	"github.com/lockchaos/lockchaos/internal/runs/metrics"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Settings say how scenarios are run.
type Settings struct {
	// Tool is the program that runs them.
	Tool *Tool
	Seed uint64
	// Parallel is how many run at once; 1 at the least.
	Parallel int
	// Steady is how many run at once on any machine, of parallel; the rest
	// while it is calm. 0: all.
	Steady int
	// Retries is how often a scenario is run again that came to nothing.
	Retries int
	// Counted: it is asked how often something is violated. So a run that does
	// not show a violation that it should stands, and is not made again.
	Counted bool
	// Unmasked: an exam does not make attacks again on an application that avoids the first defect.
	Unmasked bool
	// Longer: each time for twice as long, for on a busy machine less happens.
	Longer bool
	// Out is the folder for the runs' folders.
	Out string
	// Compress: each history is compressed when its scenario is over.
	Compress bool
	// NoExpect: the properties alone decide, whatever a scenario expects.
	NoExpect bool
	// Words are the words of the command line that choose the runtime again.
	Words []string
	// Places tells where the scenarios are written, by their names.
	Places map[string]scenarios.Place
	// Shard is the part of the plans that is run.
	Shard Shard
	// Metrics counts what the run shows; nil: nothing does.
	Metrics *metrics.Set
	// Policy is what a gate rules by; nil: it is no gate.
	Policy *policy.Policy
}
