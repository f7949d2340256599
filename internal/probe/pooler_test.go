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
	for mode, want := range map[string]string{
		"":            "none is seen",
		"session":     "(pool_mode session): advisory locks survive as without it",
		"transaction": "(pool_mode transaction) POOLER: pg_advisory_lock does not survive its transaction",
		"statement":   "(pool_mode statement) POOLER: no advisory lock survives its statement",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			port := server
			if mode != "" {
				port = probetest.PgBouncer(t, ca, "pooler.test", server, mode)
			}
			ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
			defer cancel()
			name := map[bool]string{true: "pg.test", false: "pooler.test"}[mode == ""]
			at := parsed(t, "postgres://me:pass%2Fword@"+name+":"+port+"/locks?sslmode=verify-full", endpoint.Files{CACert: ca.File})
			checkFacts(t, ctx, service, at, "pooler", want)
			if err := service.Meet(ctx, at, here); err != nil {
				t.Error(err)
			}
		})
	}
}
