package backends_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
)

// A leader that is stopped is a leader no more: the others elect one, and it is found.
func TestEtcdLeader(t *testing.T) {
	t.Parallel()
	s := backendstest.Start(t, "etcd")
	first, err := s.Leader(backendstest.Limit(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range s.Nodes {
		if n.Name == first {
			defer backendstest.StopNode(t, n)()
		}
	}
	second, err := s.Leader(backendstest.Limit(t))
	if err != nil || second == first || !strings.HasPrefix(second, "etcd-") {
		t.Errorf("after %q the leader is %q: %v", first, second, err)
	}
}

// longEnough is for a leader that hears nobody to give up: it does after one election timeout.
const longEnough = 3 * time.Second

// Without a leader the question ends with its context; and where there is none
// by nature, that is said.
func TestNoLeader(t *testing.T) {
	t.Parallel()
	s := backendstest.Start(t, "etcd")
	for _, n := range s.Nodes[:2] {
		defer backendstest.StopNode(t, n)()
	}
	ctx, cancel := context.WithTimeout(t.Context(), longEnough)
	defer cancel()
	for { // the third may lead for a moment more
		name, err := s.Leader(ctx)
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "leader") {
				t.Error(err)
			}
			break
		}
		if name != s.Nodes[2].Name {
			t.Errorf("%s leads, and is stopped", name)
		}
	}
	for _, k := range backends.Kinds() {
		if want := map[string]string{"etcd": "leader", "zookeeper": "leader", "redis-failover": "primary", "postgres": "primary",
			"postgres-pgbouncer": "primary", "nats": "leader", "consul": "leader", "kubernetes": "leader"}[k.Name]; k.Leads() != want {
			t.Errorf("%s has a %q, not a %q", k.Name, k.Leads(), want)
		}
	}
	if _, err := (&backends.Service{Name: "redis"}).Leader(t.Context()); err == nil || !strings.Contains(err.Error(), "no leader") {
		t.Errorf("redis: %v", err)
	}
}
