package workload

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// GuardCheck is the guard of an application that asks the lock before each
// write, and GuardNone of one that asks nothing.
const (
	GuardCheck = "check"
	GuardNone  = "none"
)

// Actor plays the application on one client: the ops that workloads are made of, and
// the steps between them at which faults strike. An error of its methods means that
// the harness can't go on; what the lock or the store answered is in the history.
type Actor struct {
	*wire.Client
	Plan     scenarios.Workload
	Keys     []string
	Rand     *rand.Rand
	Director Director
	// Pass lets time pass: that of the machine (clock.Pause), or that of a simulation.
	Pass func(ctx context.Context, early <-chan struct{}, d time.Duration) bool
	// Done is closed when the workload's time is over.
	Done <-chan struct{}
	// acquires, if set, is called when the invocation of an acquire is recorded.
	acquires func()
}

// Director is what applications tell of their steps, and what strikes them: the
// director of a run, or of a simulation.
type Director interface {
	// Asks is told that a client is about to be asked, and returns what takes its answer.
	Asks(client int32, o wire.Op) (answered func(id int64, r wire.Reply))
	// Dead reports whether a fault has killed the client, or it is closed to free a stuck key.
	Dead(client int32) bool
	// Revive lets a fresh process take the place of the actor's, which is gone.
	Revive(ctx context.Context, a *Actor) error
	// Dies kills the actor's client, when no fault strikes it, and returns wire.ErrKilled.
	Dies(ctx context.Context, a *Actor) error
	// Acquiring and Renewing are called right before the call is sent, and what
	// they return when the answer has come.
	Acquiring(ctx context.Context, client int32, key string) (answered func() error)
	Renewing(ctx context.Context, client int32, key string, grant int64) (answered func() error)
	// Holds is told of a grant, and Releases of its end.
	Holds(ctx context.Context, client int32, key string, grant int64) error
	Releases(grant int64)
	// Reached is told of a step between two ops. A fault whose aim fits is in
	// effect when it returns.
	Reached(ctx context.Context, s nemesis.Step) error
	// RoundOver is told that a client's round is over.
	RoundOver(client int32)
}

// hold is a grant that the application believes in.
type hold struct {
	key          string
	grant, token int64
	set          []string // the keys that were granted together, key first; nil: key alone
}

// each yields the grant of each key. To the store each is one by itself.
func (h *hold) each(yield func(*hold) bool) {
	for i, key := range wire.KeysOf(h.key, h.set) {
		if !yield(&hold{key: key, grant: h.grant + int64(i), token: h.token}) {
			return
		}
	}
}

// op is an op under the grant.
func (a *Actor) op(kind history.Kind, h *hold) wire.Op {
	return wire.Op{Kind: kind, Key: h.key, Grant: h.grant, Token: h.token, Set: h.set, Timeout: a.Plan.OpTimeout.Std()}
}

// repeat goes through the round, and rests, until done is closed.
func (a *Actor) repeat(ctx context.Context, round func(context.Context, *Actor) error) error {
	for !clock.Closed(a.Done) {
		if err := a.Survive(ctx, round(ctx, a)); err != nil {
			return err
		}
		if err := a.wait(ctx, a.Plan.Rest.Draw(a.Rand).Std()); err != nil {
			return err
		}
	}
	return nil
}

// standing is how long a candidate whose work is over waits for a term before it looks again
// whether the others' is.
const standing = 200 * time.Millisecond

// StepDown takes the terms of a candidate for leadership whose work is over, and gives them back,
// until that of the others is over too. A candidate goes on being elected whether or not it is
// asked: if it kept a term to itself, the others would seem to wait in vain for a key that is free.
func (a *Actor) StepDown(ctx context.Context, over <-chan struct{}) error {
	if a.Plan.NeverRelease {
		return nil // it dies with its term
	}
	for !clock.Closed(over) {
		_, err := a.under(ctx, a.Keys[0], standing, func(*hold) error { return nil })
		if err := a.Survive(ctx, err); err != nil {
			return err
		}
	}
	return nil
}

// under acquires the key, works under the grant and gives it back. It reports
// whether the key was granted.
func (a *Actor) under(ctx context.Context, key string, timeout time.Duration, work func(h *hold) error) (granted bool,
	err error) {
	return a.granted(ctx, wire.Op{Key: key, Timeout: timeout}, work)
}

// granted is under for an acquire that may be a reader's, or for several keys.
func (a *Actor) granted(ctx context.Context, acquire wire.Op, work func(h *hold) error) (granted bool, err error) {
	key := acquire.Key
	acquire.Kind, acquire.Invoked = history.Acquire, a.acquires
	defer a.Director.RoundOver(a.Number)
	answered := a.Director.Acquiring(ctx, a.Number, key)
	id, r, err := a.do(ctx, acquire)
	if struck := answered(); err == nil {
		err = struck
	}
	if err != nil || r.Result != wire.ResultOK {
		return false, err
	}
	h := &hold{key: key, grant: id, token: r.Token, set: acquire.Set}
	for one := range h.each {
		if err := a.Director.Holds(ctx, a.Number, one.key, one.grant); err != nil {
			return true, err
		}
	}
	if err = work(h); err == nil {
		err = a.at(ctx, nemesis.BeforeRelease, h)
	}
	for one := range h.each {
		// before the release is sent: from now on it is no holder that a fault meets
		a.Director.Releases(one.grant)
	}
	switch {
	case err != nil:
	case a.Plan.NeverRelease:
		err = a.Director.Dies(ctx, a)
	default:
		_, _, err = a.do(ctx, a.op(history.Release, h))
	}
	return true, err
}

// at passes a step between two ops. A fault whose aim fits is in effect when it returns.
func (a *Actor) at(ctx context.Context, m nemesis.Moment, h *hold) error {
	return a.Director.Reached(ctx, nemesis.Step{Moment: m, Client: a.Number, Grant: h.grant, Key: h.key})
}

// read reads the key's record; ok is false when it was not read.
func (a *Actor) read(ctx context.Context, h *hold) (r wire.Reply, ok bool, err error) {
	_, r, err = a.do(ctx, a.op(history.Read, h))
	return r, err == nil && r.Result == wire.ResultOK, err
}

// write writes the key's record; ok is false when it is not known to be written.
func (a *Actor) write(ctx context.Context, h *hold, value int64) (ok bool, err error) {
	o := a.op(history.Write, h)
	o.Value = value
	_, r, err := a.do(ctx, o)
	return err == nil && r.Result == wire.ResultOK, err
}

// think is the holder's work.
func (a *Actor) think(ctx context.Context) error {
	if !a.Pass(ctx, a.Gone(), a.Plan.Think.Draw(a.Rand).Std()) {
		return context.Cause(ctx)
	}
	return nil
}

// wait lets time pass in which the client holds nothing, or less when the workload's time is over.
func (a *Actor) wait(ctx context.Context, d time.Duration) error {
	if !a.Pass(ctx, a.Done, d) {
		return context.Cause(ctx)
	}
	return nil
}

// mayWrite renews the grant and asks the lock whether it is still held, if the application is
// one that does. It is false when the application stops: it knows of the loss, or can't be sure.
func (a *Actor) mayWrite(ctx context.Context, h *hold) (bool, error) {
	guarded := a.Plan.Guard == GuardCheck
	if a.Plan.Renew && a.CanRenew {
		renewed, err := a.renew(ctx, h)
		if err != nil || guarded && !renewed && !a.CanAsk { // where it can be asked, that decides
			return false, err
		}
	}
	if !a.CanAsk || !guarded && !a.Plan.Ask {
		// with guard "check" and a lock that can only tell, the worker declines
		// what is begun after it has told
		return true, nil
	}
	_, r, err := a.do(ctx, a.op(history.Held, h))
	return err == nil && (!guarded || r.Result == wire.ResultOK), err
}

// renew asks for more time, and reports whether the lock has given it.
func (a *Actor) renew(ctx context.Context, h *hold) (renewed bool, err error) {
	answered := a.Director.Renewing(ctx, a.Number, h.key, h.grant)
	_, r, err := a.do(ctx, a.op(history.Renew, h))
	if struck := answered(); err == nil {
		err = struck
	}
	return r.Result == wire.ResultOK, err
}

// do drives an op, unless the client has been killed, before or meanwhile, or
// is to be closed: then its round is over, as wire.ErrKilled says.
func (a *Actor) do(ctx context.Context, o wire.Op) (int64, wire.Reply, error) {
	if a.dead() {
		return 0, wire.Reply{}, wire.ErrKilled
	}
	answered := a.Director.Asks(a.Number, o)
	id, r, err := a.Client.Do(ctx, o)
	answered(id, r)
	if err != nil && ctx.Err() == nil && a.dead() {
		err = wire.ErrKilled
	}
	return id, r, err
}

// dead reports whether a fault has killed the client, or it is closed to free a stuck key.
func (a *Actor) dead() bool {
	return a.Director.Dead(a.Number)
}

// Survive is passed what a round has come to. It lets a fresh process take the place of a
// client that was killed, or closed to free a stuck key, and the application go on with it.
func (a *Actor) Survive(ctx context.Context, err error) error {
	if err != nil && !errors.Is(err, wire.ErrKilled) || err == nil && !a.dead() {
		return err
	}
	return a.Director.Revive(ctx, a)
}
