package harness

import (
	"context"

	"github.com/lockchaos/lockchaos/nemesis"
)

// permit is a round of an application that does its work under one of several permits: it acquires one, begins its work (a write), goes on with
// it, ends it (another write) and gives the permit back. What it writes builds on nothing that it read: others are at work beside it.
func permit(ctx context.Context, a *actor) error {
	_, err := a.under(ctx, a.keys[0], a.plan.AcquireTimeout.Std(), func(h *hold) error {
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
