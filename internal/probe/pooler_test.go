package probe_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/endpoint/pgurl"
	"github.com/lockchaos/lockchaos/internal/probe"
	"github.com/lockchaos/lockchaos/internal/probe/probetest"
)

// A pgpool-II is recognised by what it says of itself. Advisory locks survive behind it until the
// client's connection ends, and longer where it resets no sessions: the probe says what happens.
func TestPgpool(t *testing.T) {
	t.Parallel()
	ca := authority.New(t)
	server := probetest.Postgres(t, ca, "pg.test")
	service, _ := probe.Lookup("postgres")
	for name, c := range map[string]struct {
		settings []string
		want     string
		stays    bool
	}{
		"as it comes": {nil, "(connection_cache on, reset_query_list \"ABORT;DISCARD ALL\"): advisory locks survive as without it", false},
		"careless":    {[]string{"reset_query_list = 'ABORT'"}, "POOLER: a session that is handed on keeps its advisory locks", true},
		"uncached":    {[]string{"reset_query_list = 'ABORT'", "connection_cache = off"}, "(connection_cache off, reset_query_list \"ABORT\"): advisory", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := probetest.Pgpool(t, ca, "pooler.test", server, c.settings...)
			ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
			defer cancel()
			at := parsed(t, "postgres://me:pass%2Fword@pooler.test:"+port+"/locks?sslmode=verify-full", endpoint.Files{CACert: ca.File})
			checkFacts(t, ctx, service, at, "pooler", "pgpool-II 4.", "pooler", c.want)
			if err := service.Meet(ctx, at, here); err != nil {
				t.Error(err)
			}
			checkOutlives(t, ctx, at, c.stays)
		})
	}
}

// checkOutlives reports whether an advisory lock outlives the connection of its client.
func checkOutlives(t *testing.T, ctx context.Context, at endpoint.Endpoint, stays bool) {
	t.Helper()
	config, err := pgurl.Config(at.Address(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // sessions that are not reset keep prepared statements
	config.DialFunc = probetest.Here
	config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	connect := func() *pgx.Conn {
		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	key := rand.Int64()
	takes := func(conn *pgx.Conn) (is bool) {
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", key).Scan(&is); err != nil {
			t.Fatal(err)
		}
		return is
	}
	session := func(conn *pgx.Conn) (pid uint32) {
		if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
			t.Fatal(err)
		}
		return pid
	}
	first, other := connect(), connect()
	defer other.Close(ctx)
	held := session(first)
	if !takes(first) || takes(other) {
		t.Error("the lock does not exclude while its client is connected")
	}
	if err := first.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if !stays {
		decided.Await(t, "the lock goes with its client", func() bool { return takes(other) })
		return
	}
	decided.Await(t, "another client is given the session", func() bool {
		next := connect()
		given := session(next) == held
		if given && takes(other) {
			t.Error("the lock went with its client")
		}
		if err := next.Close(ctx); err != nil {
			t.Fatal(err)
		}
		return given
	})
}

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
