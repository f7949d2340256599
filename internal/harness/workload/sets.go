package workload

import (
	"context"

	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/nemesis"
)

// gather is a round of an application that needs several keys at a time: it acquires
// some of them in one call, reads the record of each, thinks, writes the successor
// of each, and releases them in one call. How many it asks for, which, and in what
// order, is drawn; a lock that grants one key at a time is asked for one.
func gather(ctx context.Context, a *Actor) error {
	set := make([]string, 1+a.Rand.IntN(min(max(a.Claims.MultiKey, 1), len(a.Keys))))
	for i, at := range a.Rand.Perm(len(a.Keys))[:len(set)] {
		set[i] = a.Keys[at]
	}
	acquire := wire.Op{Key: set[0], Timeout: a.Plan.AcquireTimeout.Std()}
	if len(set) > 1 {
		acquire.Set = set
	}
	_, err := a.granted(ctx, acquire, func(h *hold) error { return a.countAll(ctx, h) })
	return err
}

// countAll is the work under a grant of several keys, as far as the answers let it.
func (a *Actor) countAll(ctx context.Context, h *hold) error {
	if err := a.at(ctx, nemesis.AfterGrant, h); err != nil {
		return err
	}
	var next []int64
	for one := range h.each {
		r, ok, err := a.read(ctx, one)
		if !ok {
			return err
		}
		next = append(next, r.Value+1)
	}
	if ok, err := a.prepare(ctx, h); !ok {
		return err
	}
	for one := range h.each {
		if ok, err := a.write(ctx, one, next[0]); !ok {
			return err
		}
		next = next[1:]
	}
	return nil
}
