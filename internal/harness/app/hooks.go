package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/internal/harness/director"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// hooked asks one client of the application for its ops.
type hooked struct {
	*client
	run *run
	how caller
}

// drive lets a client acquire, write and release, round after round, until done
// is closed. A round that has begun is finished.
func (a *run) drive(ctx context.Context, c *client, done <-chan struct{}) error {
	s := a.cfg.Plan.Scenario
	h := &hooked{client: c, run: a, how: a.caller(c)}
	rng := a.cfg.Plan.Stream(fmt.Sprintf("client %d", c.number))
	if c.host == nil {
		return nil // it had ended before it could be asked
	}
	for !clock.Closed(done) && !a.over(c) {
		key := fmt.Sprintf("k%d", rng.IntN(s.Keys))
		if err := h.round(ctx, key, s.Workload.Think.Draw(rng).Std()); err != nil {
			return err
		}
		if !clock.Pause(ctx, done, s.Workload.Rest.Draw(rng).Std()) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// caller is the way in which a client's hooks are called.
func (a *run) caller(c *client) caller {
	if a.app.Hooks.Commands() {
		return &commandHooks{run: a, client: c}
	}
	return newHTTPHooks(c, a.app.Hooks.Port)
}

// round is one: acquire, think, write, release.
func (h *hooked) round(ctx context.Context, key string, think time.Duration) error {
	hooks, w, d := h.run.app.Hooks, h.run.cfg.Plan.Scenario.Workload, h.run.director
	answered := d.Acquiring(ctx, h.number, key)
	got, err := h.ask(ctx, hooks.Acquire, "grant", key, 0, w.AcquireTimeout.Std())
	if struck := unlessKilled(answered()); err == nil {
		err = struck
	}
	if err != nil || !got.Granted() {
		return err
	}
	grant, err := h.run.granted(ctx, h.client, &got, false)
	if err != nil {
		return err
	}
	at := func(m nemesis.Moment) error {
		if err := unlessKilled(d.Reached(ctx, nemesis.Step{Moment: m, Client: h.number, Grant: grant,
			Key: key})); err != nil {
			return err
		}
		// An application that is frozen here goes on when it wakes up. Asked
		// earlier, nobody could tell when it did what it was asked.
		return d.AwaitThaw(ctx, h.number)
	}
	if err := d.AwaitThaw(ctx, h.number); err != nil { // it may have been struck after the grant
		return err
	}
	if !clock.Pause(ctx, nil, think) {
		return context.Cause(ctx)
	}
	if err := at(nemesis.BeforeWrite); err != nil {
		return err
	}
	if _, err := h.ask(ctx, hooks.Write, "write", key, got.Token, w.OpTimeout.Std()); err != nil {
		return err
	}
	if err := at(nemesis.BeforeRelease); err != nil {
		return err
	}
	d.Releases(grant)
	_, err = h.ask(ctx, hooks.Release, "release", key, got.Token, w.OpTimeout.Std())
	return err
}

// ask calls a hook and notes what it answered. Its error says that the run is over, or that the
// answer makes no sense; that nobody answered is an answer: whether the op happened is unknown.
func (h *hooked) ask(ctx context.Context, hook scenarios.AppHook, means, key string, token int64,
	timeout time.Duration) (audit.Line, error) {
	l := audit.Line{Client: h.Name, Key: key, Means: means, Token: token, Result: "unknown"}
	body, err := json.Marshal(hookAsk{Key: key, Token: token, TimeoutMS: timeout.Milliseconds()})
	if err != nil {
		return l, fmt.Errorf("ask %s: %w", h.Name, err)
	}
	h.run.ids.NextOp()
	l.Began = h.run.wall()
	answer, err := h.how.call(ctx, hook, body, timeout+h.run.patience())
	l.Ended = h.run.wall()
	if ctx.Err() != nil {
		return l, context.Cause(ctx)
	}
	if err != nil {
		if wrong, ok := errors.AsType[*hookError](err); ok && !h.run.over(h.client) {
			return l, wrong
		}
	} else {
		answer.into(&l)
	}
	h.note(l)
	return l, nil
}

// patience is how much longer than its own timeout a hook is waited for: a fault may hold it up.
func (a *run) patience() time.Duration { return director.LongestFault(a.cfg.Plan) + time.Second }
