package workload

import (
	"context"

	"github.com/lockchaos/lockchaos/nemesis"
)

// A leader runs as many ticks as are drawn from this range before it steps down.
const FewestTicks, MostTicks = 2, 5

// lead is a term of a leader that runs scheduled ticks: it acquires the leader lock, and
// for some ticks reads which was run last, waits for the time of the next, and runs it
// (writes its number). Then it steps down. A tick that was run twice is the violation.
func lead(ctx context.Context, a *Actor) error {
	ticks := FewestTicks + a.Rand.IntN(MostTicks-FewestTicks+1)
	_, err := a.under(ctx, a.Keys[0], a.Plan.AcquireTimeout.Std(), func(h *hold) error {
		if err := a.at(ctx, nemesis.AfterGrant, h); err != nil {
			return err
		}
		for range ticks {
			if ok, err := a.successor(ctx, h); !ok {
				return err
			}
		}
		return nil
	})
	return err
}
