//go:build linux

package shell

import (
	"context"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// able returns the lock with the methods of what its commands can.
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

// Held asks whether the grant still stands: by the command for that, else by whether the one that
// holds still runs.
func (l askable) Held(ctx context.Context, g clients.Grant) error {
	if l.commands.Held == "" {
		return l.running(g)
	}
	return l.on(ctx, HeldFlag, l.commands.Held, g)
}

// Renew starts the lease anew.
func (l renewable) Renew(ctx context.Context, g clients.Grant) (clients.Grant, error) {
	g.Attempt = monotime.Now()
	return g, l.on(ctx, RenewFlag, l.commands.Renew, g)
}
