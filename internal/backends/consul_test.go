package backends_test

import (
	"context"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/lockchaos/lockchaos/clients/consul"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
)

// TestConsulCluster: it comes up, has a leader, and another one when that dies; and ends sessions.
func TestConsulCluster(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "consul")
	began := time.Now()
	s := backendstest.Start(t, "consul")
	t.Logf("up in %v", time.Since(began))
	if len(s.Nodes) != 3 || len(s.Addrs()) != 3 || !number.MatchString(s.Version) {
		t.Fatalf("%d nodes, version %q", len(s.Nodes), s.Version)
	}
	backendstest.LosesSession(t, consul.Session, s, "ended", "destroyed session ")
	ctx := backendstest.Limit(t)
	leader, err := s.Leader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range s.Nodes {
		if n.Name != leader {
			continue
		}
		if _, err := n.Kill(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for next := leader; next == leader; {
		if next, err = s.Leader(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func consulAt(t *testing.T, addr string) *api.KV {
	c, err := api.NewClient(&api.Config{Address: addr, Scheme: "http"})
	if err != nil {
		t.Fatal(err)
	}
	return c.KV()
}

func asksConsul(t *testing.T, addr string) func(context.Context) error {
	kv := consulAt(t, addr)
	return func(ctx context.Context) error {
		_, _, err := kv.Get("k", (&api.QueryOptions{}).WithContext(ctx))
		return err
	}
}
