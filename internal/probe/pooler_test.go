package probe_test

import (
	"context"
	"testing"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/probe"
	"github.com/lockchaos/lockchaos/internal/probe/probetest"
)

// A PgBouncer is recognised, by what it does, and so are the advisory locks that it leaves whole.
func TestPooler(t *testing.T) {
	t.Parallel()
	ca := authority.New(t)
	server := probetest.Postgres(t, ca, "pg.test")
	service, _ := probe.Lookup("postgres")
	for name, c := range map[string]struct {
		mode string // "": no pooler
		pool int
		want string
	}{
		"none":        {"", 0, "none is seen"},
		"session":     {"session", 20, "(pool_mode session): advisory locks survive as without it"},
		"full":        {"session", 1, "gave a second client no session for 5s: it pools by session, or its pool is full"},
		"transaction": {"transaction", 20, "(pool_mode transaction) POOLER: pg_advisory_lock does not survive its transaction"},
		"statement":   {"statement", 20, "(pool_mode statement) POOLER: no advisory lock survives its statement"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			called, port := "pg.test", server
			if c.mode != "" {
				called, port = "pooler.test", probetest.PgBouncer(t, ca, "pooler.test", server, c.mode, c.pool)
			}
			ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
			defer cancel()
			at := parsed(t, "postgres://me:pass%2Fword@"+called+":"+port+"/locks?sslmode=verify-full", endpoint.Files{CACert: ca.File})
			checkFacts(t, ctx, service, at, "pooler", c.want)
			if err := service.Meet(ctx, at, here); err != nil {
				t.Error(err)
			}
		})
	}
}
