package external

import (
	"context"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/clients"
)

// able returns the lock with the methods of what the adapter said that it can.
func (l *lock) able() clients.Lock {
	switch held, renew := l.says.Does(adapter.OpHeld), l.says.Does(adapter.OpRenew); {
	case held && renew:
		return both{askable{l}, renewable{l}}
	case held:
		return askable{l}
	case renew:
		return renewable{l}
	}
	return l
}

type (
	askable   struct{ *lock }
	renewable struct{ *lock }
	both      struct {
		askable
		renewer
	}
	renewer interface {
		Renew(ctx context.Context, g clients.Grant) (clients.Grant, error)
	}
)

// Held asks the adapter whether the grant still stands.
func (l askable) Held(ctx context.Context, g clients.Grant) error {
	_, err := l.on(ctx, adapter.OpHeld, g)
	return err
}

// Renew asks the adapter for more time.
func (l renewable) Renew(ctx context.Context, g clients.Grant) (clients.Grant, error) {
	sent := l.times.Now()
	r, err := l.on(ctx, adapter.OpRenew, g)
	if err != nil {
		return g, err
	}
	g.Attempt = 0 // of what was before
	if err := l.stamps(&g, r, sent); err != nil {
		return g, err
	}
	if what := l.says.Contradiction(adapter.OpRenew, r); what != "" {
		return g, l.conn.Break("%s", what)
	}
	g.ValidFor, g.HasValidFor = int64(r.ValidFor), r.HasValidFor
	return g, nil
}
