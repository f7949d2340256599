package harness

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/lockchaos/lockchaos/harness/wire"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// guardCheck is the guard of an application that asks the lock before each write, and guardNone of one that asks nothing.
const (
	guardCheck = "check"
	guardNone  = "none"
)

// actor plays the application on one client: the ops that workloads are made of, and the steps between them at which faults strike. An
// error of its methods means that the harness can't go on; what the lock or the store answered is in the history.
type actor struct {
	*wire.Client
	plan     scenarios.Workload
	keys     []string
	rng      *rand.Rand
	director conductor
	// passes lets time pass: pause, or that of a simulation.
	passes func(ctx context.Context, early <-chan struct{}, d time.Duration) bool
	// done is closed when the workload's time is over.
	done <-chan struct{}
	// acquires, if set, is called when the invocation of an acquire is recorded.
	acquires func()
}

// conductor is what applications tell of their steps, and what strikes them: a *director with its
// run, or that of a simulation.
type conductor interface {
	// asks is told that a client is about to be asked, and returns what takes its answer.
	asks(client int32, o wire.Op) (answered func(id int64, r wire.Reply))
	death(client int32) (why absence, dead bool)
	// revive lets a fresh process take the place of the actor's, which is gone.
	revive(ctx context.Context, a *actor) error
	acquiring(ctx context.Context, client int32, key string) (answered func() error)
	renewing(ctx context.Context, client int32, h *hold) (answered func() error)
	holds(ctx context.Context, client int32, key string, grant int64) error
	releases(grant int64)
	reached(ctx context.Context, s nemesis.Step) error
	roundOver(client int32)
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
func (a *actor) op(kind history.Kind, h *hold) wire.Op {
	return wire.Op{Kind: kind, Key: h.key, Grant: h.grant, Token: h.token, Set: h.set, Timeout: a.plan.OpTimeout.Std()}
}

// repeat goes through the round, and rests, until done is closed.
func (a *actor) repeat(ctx context.Context, round func(context.Context, *actor) error) error {
	for !closed(a.done) {
		if err := a.alive(ctx, round(ctx, a)); err != nil {
			return err
		}
		if err := a.wait(ctx, a.plan.Rest.Draw(a.rng).Std()); err != nil {
			return err
		}
	}
	return nil
}

// under acquires the key, works under the grant and gives it back. It tells whether the key was granted.
func (a *actor) under(ctx context.Context, key string, timeout time.Duration, work func(h *hold) error) (granted bool, err error) {
	return a.granted(ctx, wire.Op{Key: key, Timeout: timeout}, work)
}

// granted is under for an acquire that may be a reader's, or for several keys.
func (a *actor) granted(ctx context.Context, acquire wire.Op, work func(h *hold) error) (granted bool, err error) {
	key := acquire.Key
	acquire.Kind, acquire.Invoked = history.Acquire, a.acquires
	defer a.director.roundOver(a.Number)
	answered := a.director.acquiring(ctx, a.Number, key)
	id, r, err := a.do(ctx, acquire)
	if struck := answered(); err == nil {
		err = struck
	}
	if err != nil || r.Result != wire.ResultOK {
		return false, err
	}
	h := &hold{key: key, grant: id, token: r.Token, set: acquire.Set}
	for one := range h.each {
		if err := a.director.holds(ctx, a.Number, one.key, one.grant); err != nil {
			return true, err
		}
	}
	if err = work(h); err == nil {
		err = a.at(ctx, nemesis.BeforeRelease, h)
	}
	for one := range h.each {
		a.director.releases(one.grant) // before the release is sent: from now on it is no holder that a fault meets
	}
	if err != nil {
		return true, err
	}
	_, _, err = a.do(ctx, a.op(history.Release, h))
	return true, err
}

// at passes a step between two ops. A fault whose aim fits is in effect when it returns.
func (a *actor) at(ctx context.Context, m nemesis.Moment, h *hold) error {
	return a.director.reached(ctx, nemesis.Step{Moment: m, Client: a.Number, Grant: h.grant, Key: h.key})
}

// read reads the key's record; ok is false when it was not read.
func (a *actor) read(ctx context.Context, h *hold) (r wire.Reply, ok bool, err error) {
	_, r, err = a.do(ctx, a.op(history.Read, h))
	return r, err == nil && r.Result == wire.ResultOK, err
}

// write writes the key's record; ok is false when it is not known to be written.
func (a *actor) write(ctx context.Context, h *hold, value int64) (ok bool, err error) {
	o := a.op(history.Write, h)
	o.Value = value
	_, r, err := a.do(ctx, o)
	return err == nil && r.Result == wire.ResultOK, err
}

// think is the holder's work.
func (a *actor) think(ctx context.Context) error {
	if !a.passes(ctx, a.Gone(), a.plan.Think.Draw(a.rng).Std()) {
		return context.Cause(ctx)
	}
	return nil
}

// wait lets time pass in which the client holds nothing, or less when the workload's time is over.
func (a *actor) wait(ctx context.Context, d time.Duration) error {
	if !a.passes(ctx, a.done, d) {
		return context.Cause(ctx)
	}
	return nil
}

// mayWrite renews the grant and asks the lock whether it is still held, if the application is one that does. It is false when the application
// stops: it knows of the loss, or can't be sure.
func (a *actor) mayWrite(ctx context.Context, h *hold) (bool, error) {
	guarded := a.plan.Guard == guardCheck
	if a.plan.Renew && a.CanRenew {
		renewed, err := a.renew(ctx, h)
		if err != nil || guarded && !renewed && !a.CanAsk { // where it can be asked, that decides
			return false, err
		}
	}
	if !a.CanAsk || !guarded && !a.plan.Ask {
		return true, nil // with guard "check" and a lock that can only tell, the worker declines what is begun after it has told
	}
	_, r, err := a.do(ctx, a.op(history.Held, h))
	return err == nil && (!guarded || r.Result == wire.ResultOK), err
}

// renew asks for more time, and reports whether the lock has given it.
func (a *actor) renew(ctx context.Context, h *hold) (renewed bool, err error) {
	answered := a.director.renewing(ctx, a.Number, h)
	_, r, err := a.do(ctx, a.op(history.Renew, h))
	if struck := answered(); err == nil {
		err = struck
	}
	return r.Result == wire.ResultOK, err
}

// pause waits for d, or less when early is closed. It returns false when the context has ended.
func pause(ctx context.Context, early <-chan struct{}, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-early:
	case <-ctx.Done():
		return false
	}
	return true
}
