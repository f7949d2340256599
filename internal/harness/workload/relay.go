package workload

import (
	"context"
	"sync"
	"time"
)

// relay lets one client at a time ask for the key: each acquires, works, releases and
// rests, and then the next one asks. So the client that asks finds the key free, by a release
// that was answered a moment ago. With next_after the next one asks so long after the
// grant, also while its holder still works: until then nobody else wants the key.
type relay struct {
	baton chan struct{} // the client that has it may ask
}

func newRelay(Setting) Job {
	r := &relay{baton: make(chan struct{}, 1)}
	r.baton <- struct{}{}
	return r
}

func (r *relay) Run(ctx context.Context, a *Actor) error { return a.repeat(ctx, r.round) }

func (r *relay) round(ctx context.Context, a *Actor) error {
	select {
	case <-r.baton:
	case <-a.Done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	pass := sync.OnceFunc(func() { r.baton <- struct{}{} })
	defer pass()
	_, err := a.under(ctx, a.Keys[0], a.Plan.AcquireTimeout.Std(), func(h *hold) error {
		if after := a.Plan.NextAfter.Draw(a.Rand).Std(); after > 0 {
			defer time.AfterFunc(after, pass).Stop()
		}
		return a.count(ctx, h)
	})
	return err
}
