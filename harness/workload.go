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

// workload is what the clients of one run do. What they share is in it, so its methods are called by all of them at once.
type workload interface {
	// run drives one client until actor.done is closed. A round that has begun is finished, so that nothing is left held.
	run(ctx context.Context, a *actor) error
}

// Workloads lists every kind of workload.
func Workloads() []Workload {
	return []Workload{
		{"counter", "acquire, read, think, write the successor, release, rest", func(*run) workload { return rounds(count) }},
	}
}

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
