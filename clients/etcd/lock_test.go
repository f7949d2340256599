package etcd_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/etcd"
)

func TestConfig(t *testing.T) {
	for _, c := range []clients.Config{{}, {Nodes: []string{"127.0.0.1:1"}}, {TTL: time.Second}} {
		if l, err := etcd.Lease.Open(t.Context(), c); err == nil {
			l.Close(t.Context())
			t.Errorf("%+v was accepted", c)
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
	for _, addr := range []string{silent.Addr().String(), closed.Addr().String()} {
		l, err := etcd.Lease.Open(t.Context(), clients.Config{Nodes: []string{addr}, TTL: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		began := time.Now()
		g, err := l.Acquire(ctx, "k")
		cancel()
		if err == nil || clients.Definite(err) || g.First != 0 || !strings.Contains(err.Error(), addr) {
			t.Errorf("%+v, %v", g, err)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("returned after %v", took)
		}
		forged := clients.Grant{Key: "k", Secret: "nobody's"}
		if err := l.Release(t.Context(), forged); !errors.Is(err, clients.ErrNotHeld) {
			t.Errorf("a forged grant: %v", err)
		}
		if ttl := l.(clients.Leaser).GrantedTTL(); ttl != 0 {
			t.Errorf("a TTL of %v without session", ttl)
		}
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
