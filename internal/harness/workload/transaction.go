package workload

import (
	"context"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/nemesis"
)

// The orders in which a transaction and its lock end.
const (
	OrderCommitFirst = "commit-first" // the lock is held until the write stands
	// OrderReleaseFirst is the mistake: what the lock should protect happens behind it. An
	// annotation that opens the transaction around a method which unlocks by itself makes it.
	OrderReleaseFirst = "release-first"
)

// transact is a round of an application whose write is a transaction of the store: acquire, begin
// with the read, think, write. Then it commits and releases, in the right order or the wrong one.
func transact(ctx context.Context, a *Actor) error {
	key := a.Keys[a.Rand.IntN(len(a.Keys))]
	wrote := &hold{}
	_, err := a.under(ctx, key, a.Plan.AcquireTimeout.Std(), func(h *hold) error {
		if err := a.at(ctx, nemesis.AfterGrant, h); err != nil {
			return err
		}
		ok, err := a.successor(ctx, h)
		if !ok {
			return err
		}
		if a.Plan.Order == OrderReleaseFirst {
			wrote = h
			return nil
		}
		return a.commit(ctx, h)
	})
	if err != nil || wrote.grant == 0 {
		return err
	}
	return a.commit(ctx, wrote)
}

// commit passes the step before it, and commits what was written under the grant.
func (a *Actor) commit(ctx context.Context, h *hold) error {
	if err := a.at(ctx, nemesis.BeforeCommit, h); err != nil {
		return err
	}
	_, _, err := a.do(ctx, wire.Op{Kind: history.Commit, Key: h.key, Grant: h.grant, Timeout: a.Plan.OpTimeout.Std()})
	return err
}
