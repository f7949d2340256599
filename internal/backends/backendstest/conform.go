package backendstest

import (
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
)

// Conform runs the suite of each kind. Much of it is waiting for leases to end, so the
// kinds are tried side by side, each against a service of its own, which its suite freezes.
func Conform(t *testing.T, service string, ttl time.Duration, suite func(*testing.T, clients.Kind, clienttest.Service),
	kinds ...clients.Kind) {
	t.Helper()
	for _, kind := range kinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, service)
			stop, resume := Freeze(s.Nodes...)
			suite(t, kind, clienttest.Service{Nodes: s.Addrs(), TTL: ttl, Stop: stop, Continue: resume})
		})
	}
}
