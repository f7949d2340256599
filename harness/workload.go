package harness

import (
	"context"
	"fmt"
)

// Workload is one kind of workload, as a scenario names it (workload.kind).
type Workload struct {
	Name string
	// About says in a sentence what every client does.
	About string
	// make prepares what the clients of one run share.
	make func(r *run) workload
}

// workload is what the clients of one run do. What they share is in it, so its
// methods are called by all of them at once.
type workload interface {
	// run drives one client until actor.done is closed. A round that has begun
	// is finished, so that nothing is left held.
	run(ctx context.Context, a *actor) error
}

// Workloads lists every kind of workload.
func Workloads() []Workload {
	return []Workload{
		{"counter", "acquire, read, think, write the successor, release, rest", alike(count)},
		{"payment", "each order comes to two clients at once: acquire, charge it unless it is charged, release",
			func(*run) workload { return &payment{} }},
		{"leader", "acquire, run a few scheduled ticks (read the last, think, write the next), step down", alike(lead)},
		{"transfer", "acquire two keys, move an amount from one to the other, release both", alike(transfer)},
		{"queue", "all wait for one key: acquire, read, think, write the successor, release, rest", alike(stand)},
		{"semaphore", "acquire a permit, or several at once where the lock grants them so, write, think, write, release", alike(permit)},
		{"sets", "acquire one key or several in one call, where the lock grants them so, read each, think, write the successor of each, release all", alike(gather)},
		{"relay", "one client at a time asks: acquire, read, think, write the successor, release; then the next one asks", newRelay},
		{"stampede", "all wait for one key, and the requests that the service handles for it are counted", newStampede},
	}
}

// alike is a workload whose clients all go through the same round.
func alike(round rounds) func(*run) workload { return func(*run) workload { return round } }

// rounds is a workload whose clients share nothing: each goes through the round again and again.
type rounds func(ctx context.Context, a *actor) error

func (round rounds) run(ctx context.Context, a *actor) error { return a.repeat(ctx, round) }

// newWorkload prepares the plan's workload.
func (r *run) newWorkload() (workload, error) {
	name := r.cfg.Plan.Scenario.Workload.Kind
	for _, w := range Workloads() {
		if w.Name == name {
			return w.make(r), nil
		}
	}
	return nil, fmt.Errorf("there is no workload named %q", name)
}
