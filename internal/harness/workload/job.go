package workload

import (
	"context"

	"github.com/lockchaos/lockchaos/scenarios"
)

// Setting is what a workload is made for.
type Setting struct {
	Scenario scenarios.Scenario
	// Count records how many requests the lock's service has handled so far.
	Count func(ctx context.Context) error
}

// Job is what the clients of one run do. What they share is in it, so its
// methods are called by all of them at once.
type Job interface {
	// Run drives one client until Actor.Done is closed. A round that has begun
	// is finished, so that nothing is left held.
	Run(ctx context.Context, a *Actor) error
}
