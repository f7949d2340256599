package harness

import "context"

// relay lets one client at a time ask for the key: each acquires, works, releases and rests, and then the next one asks. So whoever asks finds the key free, by a
// release that was answered a moment ago.
type relay struct {
	baton chan struct{} // whoever has it may ask
}

func newRelay(*run) workload {
	r := &relay{baton: make(chan struct{}, 1)}
	r.baton <- struct{}{}
	return r
}

func (r *relay) run(ctx context.Context, a *actor) error { return a.repeat(ctx, r.round) }

func (r *relay) round(ctx context.Context, a *actor) error {
	select {
	case <-r.baton:
	case <-a.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { r.baton <- struct{}{} }()
	return a.countOn(ctx, a.keys[0])
}
