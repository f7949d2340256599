package workload

import (
	"context"

	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/nemesis"
)

// permit is a round of an application that does its work under one of several
// permits, or under as many as the lock lets it ask for at once: it acquires them,
// begins its work (a write), goes on with it, ends it (another write) and gives them
// back. What it writes builds on nothing that it read: others are at work beside it.
func permit(ctx context.Context, a *Actor) error {
	acquire := wire.Op{Key: a.Keys[0], Timeout: a.Plan.AcquireTimeout.Std()}
	if most := a.Claims.PerAcquire; most > 1 {
		acquire.Permits = 1 + a.Rand.IntN(most)
	}
	_, err := a.granted(ctx, acquire, func(h *hold) error {
		if err := a.at(ctx, nemesis.AfterGrant, h); err != nil {
			return err
		}
		if ok, err := a.write(ctx, h, h.grant); !ok {
			return err
		}
		_, err := a.act(ctx, h, h.grant)
		return err
	})
	return err
}
