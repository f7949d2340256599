// Package workload is the application: what clients do under a lock, round after round, op by op.
// Every kind of workload has a file; all are made of an Actor.
package workload

import (
	"context"
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// Kind is one kind of workload, as a scenario names it (workload.kind).
type Kind struct {
	Name string
	// About says in a sentence what every client does.
	About string
	// make prepares what the clients of one run share.
	make func(s Setting) Job
}

// Kinds lists every kind of workload.
func Kinds() []Kind {
	return []Kind{
		{"counter", "acquire, read, think, write the successor, release, rest", sameRound(count)},
		{"payment", "each order comes to two clients at once: acquire, charge it unless it is charged, release",
			func(Setting) Job { return &payment{} }},
		{"leader", "acquire, run a few scheduled ticks (read the last, think, write the next), step down", sameRound(lead)},
		{"transfer", "acquire two keys, move an amount from one to the other, release both", sameRound(transfer)},
		{"queue", "all wait for one key: acquire, read, think, write the successor, release, rest", sameRound(stand)},
		{"semaphore", "acquire a permit, or several at once where the lock grants them so, write, think, write, release", sameRound(permit)},
		{"sets", "acquire one key or several in one call, where the lock grants them so, read each, think, write the successor of each, release all", sameRound(gather)},
		{history.WorkloadTransaction, "acquire, read, think and write the successor in a transaction of the store, commit, release; or release before the commit", sameRound(transact)},
		{"relay", "one client at a time asks: acquire, read, think, write the successor, release; then the next one asks", newRelay},
		{"stampede", "all wait for one key, and the requests that the service handles for it are counted", newHerd},
		{"steps", "each client passes every step of a lock once: it gives up a wait, waits, reads, thinks, writes the successor, releases; where the lock can be asked, one outlasts its lease and asks", newEveryStep},
		{"job", "each instance waits for a tick that it may execute: read, think, write the successor, mark it as done", sameRound(stand)},
	}
}

// sameRound is a workload whose clients all go through the same round.
func sameRound(round rounds) func(Setting) Job { return func(Setting) Job { return round } }

// rounds is a workload whose clients share nothing: each goes through the round again and again.
type rounds func(ctx context.Context, a *Actor) error

func (round rounds) Run(ctx context.Context, a *Actor) error { return a.repeat(ctx, round) }

// New prepares the scenario's workload.
func New(s Setting) (Job, error) {
	name := s.Scenario.Workload.Kind
	for _, w := range Kinds() {
		if w.Name == name {
			return w.make(s), nil
		}
	}
	return nil, fmt.Errorf("there is no workload named %q", name)
}
