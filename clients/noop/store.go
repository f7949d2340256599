package noop

import (
	"context"

	"github.com/lockchaos/lockchaos/clients"
)

// Cas is optimistic concurrency control: a writer says which version it
// has read, and the store writes only if that is still there (Kung and Robinson:
// On Optimistic Methods for Concurrency Control, 1981; "UPDATE … WHERE version =
// $1"). The second writer is told so, reads again and tries again.
var Cas = lockless("cas", "if-version", "no lock at all: each write names the version that was read, and the store refuses it if that is no longer there")

// ConditionalUpdate leaves reading, deciding and writing to the store, in one
// statement ("UPDATE … SET value = value + 1").
var ConditionalUpdate = lockless("conditional-update", "add",
	"no lock at all: the store reads and writes in one step, so that nothing comes between")

// lockless is an application that claims nothing, and so can break no claim:
// what is judged is whether an update was lost.
func lockless(name, writes, about string) clients.Kind {
	return clients.Kind{
		Name: name, About: about, Writes: writes,
		Claims: clients.Claims{Token: "none", NoExpiry: true},
		Open:   func(context.Context, clients.Config) (clients.Lock, error) { return &lock{}, nil },
	}
}
