package harness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// guardCheck is the guard of an application that asks the lock before each write.
const guardCheck = "check"

// counter is the workload of an application that counts under a lock: acquire, read, think, write the successor,
// release, rest.
type counter struct {
	client   *client
	plan     scenarios.Workload
	keys     []string
	rng      *rand.Rand
	director *director
}

// run goes round until done is closed. A round that has begun is finished, so that nothing is left held.
func (w *counter) run(ctx context.Context, done <-chan struct{}) error {
	for {
		select {
		case <-done:
			return nil
		default:
		}
		if err := w.round(ctx); err != nil {
			return err
		}
		if !pause(ctx, done, w.plan.Rest.Draw(w.rng).Std()) {
			return context.Cause(ctx)
		}
	}
}

// round is one turn of the workload. Its error means that the harness can't go on; what the lock or the store
// answered is in the history.
func (w *counter) round(ctx context.Context) error {
	key := w.keys[w.rng.IntN(len(w.keys))]
	think := w.plan.Think.Draw(w.rng).Std()
	id, grant, err := w.client.do(ctx, op{kind: history.Acquire, key: key, timeout: w.plan.AcquireTimeout.Std()})
	if err != nil || grant.Result != resultOK {
		return err
	}
	if err := w.director.holds(ctx, w.client.number, id); err != nil {
		return err
	}
	o := op{key: key, grant: id, token: grant.Token, timeout: w.plan.OpTimeout.Std()}
	err = w.count(ctx, o, think)
	w.director.releases(w.client.number) // before the release is sent: from now on it is no holder that a fault meets
	if err != nil {
		return err
	}
	o.kind = history.Release
	_, _, err = w.client.do(ctx, o)
	return err
}

// count reads, thinks and writes the successor, as far as the answers let it.
func (w *counter) count(ctx context.Context, o op, think time.Duration) error {
	at := func(m nemesis.Moment) error {
		return w.director.reached(ctx, nemesis.Step{Moment: m, Client: w.client.number, Grant: o.grant})
	}
	if err := at(nemesis.AfterGrant); err != nil {
		return err
	}
	o.kind = history.Read
	_, read, err := w.client.do(ctx, o)
	if err != nil || read.Result != resultOK {
		return err
	}
	if err := at(nemesis.BetweenReadAndWrite); err != nil {
		return err
	}
	if !pause(ctx, nil, think) {
		return context.Cause(ctx)
	}
	if w.plan.Guard == guardCheck {
		o.kind = history.Held
		_, held, err := w.client.do(ctx, o)
		if err != nil {
			return err
		}
		if held.Result == resultFail && !held.NotHeld {
			return fmt.Errorf("client %d on host %s: guard \"check\" needs a lock that can be asked: %s", w.client.number, w.client.host, held.Error)
		}
		if held.Result != resultOK {
			return nil // the application stops: it knows of the loss, or can't be sure
		}
	}
	if err := at(nemesis.BeforeWrite); err != nil {
		return err
	}
	o.kind, o.value = history.Write, read.Value+1
	_, _, err = w.client.do(ctx, o)
	return err
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
