package postgres_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/postgres"
)

// What needs a server is tested in package backends, which has one: the
// conformance suite, and the server's sessions behind the locks' back.

var kinds = []clients.Kind{postgres.Advisory, postgres.AdvisoryXact, postgres.Row, postgres.Lease}

func TestConfig(t *testing.T) {
	for _, kind := range kinds {
		for _, c := range []clients.Config{{TTL: time.Second}, {Nodes: []string{"127.0.0.1:1"}},
			{Nodes: []string{"127.0.0.1:1", "127.0.0.1:2"}, TTL: time.Second}} {
			if l, err := kind.Open(t.Context(), c); err == nil || l != nil {
				t.Errorf("%s: %+v was accepted: %v", kind.Name, c, err)
			}
		}
	}
}

// TestUnreachable: a client that asks learns in time that nobody answers; it is not
// busy, and no attempt was sent.
func TestUnreachable(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, in the kernel, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, kind := range kinds {
		for _, addr := range []string{silent.Addr().String(), closed.Addr().String()} {
			l, err := kind.Open(t.Context(), clients.Config{Nodes: []string{addr}, TTL: time.Second, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			began := time.Now()
			g, err := l.Acquire(ctx, "k")
			cancel()
			if err == nil || clients.Definite(err) || g.First != 0 || !strings.Contains(err.Error(), addr) {
				t.Errorf("%s: %+v, %v", kind.Name, g, err)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("%s: returned after %v", kind.Name, took)
			}
			if err := l.Release(t.Context(), clients.Grant{Key: "k", Secret: "nobody's"}); !errors.Is(err, clients.ErrNotHeld) {
				t.Errorf("%s: a forged grant: %v", kind.Name, err)
			}
			if err := l.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}
