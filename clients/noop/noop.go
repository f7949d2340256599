// Package noop has a lock that is none: it grants at once, to everyone.
//
// Noop measures the harness. With a lock that costs nothing, what is left of an
// op's time is the driver's own: the pipe to the worker, the stamps, the
// recorder. It declares that it may be held by everyone at once, so it breaks
// no promise; it is not for scenarios, and no verdict about it means anything.
//
// Cas and ConditionalUpdate are for scenarios: applications that take no lock,
// and leave it to the store that no update is lost. What is called their grant
// is the stretch of work between a read and its write.
package noop

import (
	"context"
	"math"
	"sync/atomic"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Noop is the lock noop. It needs no service.
var Noop = clients.Kind{
	Name:   "noop",
	About:  "no lock at all: grants at once, to everyone; for measuring the harness only",
	Claims: clients.Claims{Token: "owner", Permits: math.MaxInt32, NoExpiry: true},
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		return &lock{token: int64(c.Client)}, nil
	},
}

type lock struct {
	token int64
	held  atomic.Int64
}

// Acquire grants.
func (l *lock) Acquire(_ context.Context, key string) (clients.Grant, error) {
	now := monotime.Now()
	l.held.Add(1)
	return clients.Grant{Key: key, Token: l.token, Attempt: now, First: now}, nil
}

// Release takes back, and refuses when there was no grant: even a benchmark
// should notice a driver that gets out of step.
func (l *lock) Release(context.Context, clients.Grant) error {
	if l.held.Add(-1) < 0 {
		l.held.Store(0)
		return clients.ErrNotHeld
	}
	return nil
}

// Held always answers yes.
func (l *lock) Held(context.Context, clients.Grant) error { return nil }

// Close does nothing.
func (l *lock) Close(context.Context) error { return nil }
