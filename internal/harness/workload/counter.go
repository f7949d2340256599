package workload

import (
	"context"

	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/nemesis"
)

// count is a round of an application that counts under a lock: acquire a key, read its
// record, think, write the successor, release. A share of the rounds may be of readers.
func count(ctx context.Context, a *Actor) error {
	return a.countOn(ctx, a.Keys[a.Rand.IntN(len(a.Keys))])
}

// stand is the same on one key for all: a queue of clients, each waiting for its turn.
func stand(ctx context.Context, a *Actor) error { return a.countOn(ctx, a.Keys[0]) }

func (a *Actor) countOn(ctx context.Context, key string) error {
	if a.Plan.Readers > 0 && a.Rand.Float64() < a.Plan.Readers {
		return a.look(ctx, key)
	}
	_, err := a.under(ctx, key, a.Plan.AcquireTimeout.Std(), func(h *hold) error { return a.count(ctx, h) })
	return err
}

// count is the work under a grant.
func (a *Actor) count(ctx context.Context, h *hold) error {
	if err := a.at(ctx, nemesis.AfterGrant, h); err != nil {
		return err
	}
	_, err := a.successor(ctx, h)
	return err
}

// look is the round of a reader: acquire the key beside other readers, read its
// record, think, read it again, release.
func (a *Actor) look(ctx context.Context, key string) error {
	_, err := a.granted(ctx, wire.Op{Key: key, Timeout: a.Plan.AcquireTimeout.Std(), Reader: true},
		func(h *hold) error { return a.lookTwice(ctx, h) })
	return err
}

// lookTwice is the work under a reader's grant.
func (a *Actor) lookTwice(ctx context.Context, h *hold) error {
	if err := a.at(ctx, nemesis.AfterGrant, h); err != nil {
		return err
	}
	if _, ok, err := a.read(ctx, h); !ok {
		return err
	}
	if ok, err := a.prepare(ctx, h); !ok {
		return err
	}
	_, _, err := a.read(ctx, h)
	return err
}

// successor reads, thinks and writes the successor, as far as the answers let
// it; ok reports whether it is written.
func (a *Actor) successor(ctx context.Context, h *hold) (ok bool, err error) {
	r, ok, err := a.read(ctx, h)
	if !ok {
		return false, err
	}
	return a.act(ctx, h, r.Value+1)
}

// act is what follows a read: the work, the guard and the write, with the steps between them.
func (a *Actor) act(ctx context.Context, h *hold, value int64) (ok bool, err error) {
	if ok, err = a.prepare(ctx, h); !ok {
		return false, err
	}
	return a.write(ctx, h, value)
}

// prepare goes from a read to the step before the write; ok is false when the
// application stops there.
func (a *Actor) prepare(ctx context.Context, h *hold) (ok bool, err error) {
	if err := a.at(ctx, nemesis.BetweenReadAndWrite, h); err != nil {
		return false, err
	}
	if err := a.think(ctx); err != nil {
		return false, err
	}
	if ok, err = a.mayWrite(ctx, h); !ok {
		return false, err
	}
	return true, a.at(ctx, nemesis.BeforeWrite, h)
}
