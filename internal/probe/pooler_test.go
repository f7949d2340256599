package probe_test

import (
	"context"
	"math/rand/v2"
	"strings"
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

// A pgpool-II before a primary and a standby: the probe says which statements go where, and finds
// that an advisory lock is granted twice where a setting has any server grant it.
func TestPgpoolBalances(t *testing.T) {
	t.Parallel()
	ca := authority.New(t)
	primary := probetest.Postgres(t, ca, "pg.test")
	standby := probetest.Standby(t, ca, "pg.test", primary)
	service, _ := probe.Lookup("postgres")
	for name, c := range map[string]struct {
		settings []string
		want     string
		twice    bool
	}{
		"as it comes":        {nil, "it stands before 2 servers, 127.0.0.1:" + primary + " (primary, up), 127.0.0.1:" + standby + " (standby, up) (load_balance_mode on", false},
		"all may read":       {[]string{"read_only_function_list = '.*'"}, `read_only_function_list ".*"`, true},
		"without balancing":  {[]string{"read_only_function_list = '.*'", "load_balance_mode = off"}, "(load_balance_mode off", false},
		"writers are listed": {[]string{"write_function_list = 'nextval,setval'"}, `write_function_list "nextval,setval"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := probetest.Pgpool(t, ca, "pooler.test", primary, append([]string{"backend_clustering_mode = 'streaming_replication'", "backend_weight0 = 1",
				"backend_hostname1 = '127.0.0.1'", "backend_port1 = " + standby, "backend_weight1 = 1", "sr_check_user = 'me'", "sr_check_database = 'postgres'"},
				c.settings...)...)
			ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
			defer cancel()
			at := parsed(t, "postgres://me:pass%2Fword@pooler.test:"+port+"/locks?sslmode=verify-full", endpoint.Files{CACert: ca.File})
			said := ""
			decided.Await(t, "pgpool-II knows which server is the primary", func() bool {
				facts, err := service.Facts(ctx, at, here)
				for _, f := range facts {
					if err == nil && f.Name == "pooler" {
						said = f.Text + " " + f.Warning
					}
				}
				return strings.Contains(said, "(primary, up)") && strings.Contains(said, "(standby, up)")
			})
			twice := !strings.Contains(said, "; 0 of ")
			if !strings.Contains(said, c.want) || twice != c.twice || strings.Contains(said, "any server, and each server grants it") != c.twice {
				t.Errorf("%s; want %s, granted twice %v", said, c.want, c.twice)
			}
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
