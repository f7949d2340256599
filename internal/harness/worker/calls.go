package worker

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/store"
)

func (w *Worker) acquire(ctx context.Context, c wire.Command) wire.Reply {
	var g clients.Grant
	ask := w.lock.Acquire
	if c.Read {
		reader, ok := w.lock.(clients.ReadLocker)
		if !ok {
			return wire.Reply{Result: wire.ResultFail, Error: clients.ErrUnsupported.Error()}
		}
		ask = reader.AcquireRead
	}
	if c.Permits > 1 {
		l, ok := w.lock.(clients.PermitLocker)
		if !ok {
			return wire.Reply{Result: wire.ResultFail, Error: clients.ErrUnsupported.Error()}
		}
		ask = func(ctx context.Context, key string) (clients.Grant, error) {
			return l.AcquirePermits(ctx, key, c.Permits)
		}
	}
	if len(c.Keys) > 0 {
		l, ok := w.lock.(clients.SetLocker)
		if !ok {
			return wire.Reply{Result: wire.ResultFail, Error: clients.ErrUnsupported.Error()}
		}
		ask = func(ctx context.Context, _ string) (clients.Grant, error) { return l.AcquireSet(ctx, c.Keys) }
	}
	r := w.timed(func() (err error) {
		g, err = ask(ctx, c.Key)
		return err
	})
	r.First = g.First // of use after an indefinite end, too
	if r.Result != wire.ResultOK {
		return r
	}
	if g.Token == math.MaxInt64 {
		return wire.Reply{Result: wire.ResultInfo, Broken: true,
			Error: fmt.Sprintf("the lock granted %s with the token %d: the greatest that a history can tell is one less", c.Key, g.Token)}
	}
	r.Token, r.Attempt, r.Enqueued, r.Session = g.Token, g.Attempt, g.Enqueued, g.Session
	if g.HasValidFor {
		r.ValidFor = &g.ValidFor
	}
	for i, key := range c.AllKeys() {
		w.claim(g, key, c.Grant+int64(i), r.Start)
	}
	return r
}

// believed is the grant that the application thinks it has. An op under another
// grant than the newest is a mistake of the harness.
func (w *Worker) believed(c wire.Command) (believedGrant, *wire.Reply) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h, ok := w.grants[c.Key]
	if !ok || h.op != c.Grant {
		return believedGrant{}, &wire.Reply{Result: wire.ResultFail, Declined: true,
			Error: fmt.Sprintf("no grant %d of %s here", c.Grant, c.Key)}
	}
	return h, nil
}

func (w *Worker) answerHeld(ctx context.Context, c wire.Command) wire.Reply {
	h, mistake := w.believed(c)
	if mistake != nil {
		return *mistake
	}
	asked, ok := w.lock.(clients.Holder)
	if !ok {
		return wire.Reply{Result: wire.ResultFail, Error: clients.ErrUnsupported.Error()}
	}
	return w.timed(func() error { return asked.Held(ctx, h.grant) })
}

// renew asks the lock for more time. What it grants takes the place of what the application had.
func (w *Worker) renew(ctx context.Context, c wire.Command) wire.Reply {
	h, mistake := w.believed(c)
	if mistake != nil {
		return *mistake
	}
	renewer, ok := w.lock.(clients.Renewer)
	if !ok {
		return wire.Reply{Result: wire.ResultFail, Error: clients.ErrUnsupported.Error()}
	}
	var g clients.Grant
	r := w.timed(func() (err error) {
		g, err = renewer.Renew(ctx, h.grant)
		return err
	})
	if r.Result != wire.ResultOK {
		return r
	}
	r.Attempt = g.Attempt
	if g.HasValidFor {
		r.ValidFor = &g.ValidFor
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, key := range c.AllKeys() {
		if now, ok := w.grants[key]; ok && now.op == h.op+int64(i) {
			now.grant = g
			w.grants[key] = now
		}
	}
	return r
}

func (w *Worker) release(ctx context.Context, c wire.Command) wire.Reply {
	h, mistake := w.believed(c)
	if mistake != nil {
		return *mistake
	}
	w.mu.Lock()
	for _, key := range c.AllKeys() {
		delete(w.grants, key)
	}
	w.mu.Unlock()
	return w.timed(func() error { return w.lock.Release(ctx, h.grant) })
}

// access reads or writes the store under a grant. With guard "check" the application declines
// when it has been told that the hold is lost; with guard "none" it trusts its acquire.
func (w *Worker) access(ctx context.Context, c wire.Command) wire.Reply {
	h, mistake := w.believed(c)
	if mistake != nil {
		return *mistake
	}
	if h.lost && w.open.Decline {
		now := w.now()
		return wire.Reply{Result: wire.ResultFail, Declined: true, Error: "the lock has told that it is lost",
			Start: now, End: now}
	}
	request := w.request(c, h)
	var e store.Entry
	r := w.timed(func() (err error) {
		if c.Op == "read" {
			e, err = w.store.Read(ctx, request)
		} else {
			e, err = w.store.Write(ctx, request)
		}
		return err
	})
	r.Version, r.Replaced, r.Value, r.Seq = e.Version, e.Replaced, e.Value, e.Seq
	r.Refused, r.Conflict = e.Refused, e.Conflict
	r.Atomic = request.Mode == store.WriteAdd && r.Result != wire.ResultFail
	if r.Result == wire.ResultOK {
		w.keepRecord(c, e)
	}
	if why := whyNot(&e); why != "" {
		r.Error = why
	}
	return r
}

func (w *Worker) close(ctx context.Context) error {
	var err error
	if w.lock != nil {
		err = w.lock.Close(ctx)
		w.lock = nil
	}
	if w.store != nil {
		err = errors.Join(err, w.store.Close())
		w.store = nil
	}
	return err
}
