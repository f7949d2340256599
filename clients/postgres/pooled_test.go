package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/postgres"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/logins"
)

// Through the pool, locks of a transaction and in a row are what they were.
func TestPgBouncerConformance(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "postgres-pgbouncer")
	s := backendstest.Start(t, "postgres-pgbouncer")
	stop, resume := backendstest.FreezeHost(s)
	for _, kind := range []clients.Kind{postgres.AdvisoryXactPooled, postgres.LeasePooled} {
		t.Run(kind.Name, func(t *testing.T) {
			clienttest.Run(t, kind, clienttest.Service{Nodes: s.Addrs(), TTL: time.Second, Stop: stop, Continue: resume})
		})
	}
}

// Sessions are lent by transaction: a lock of a session is granted to two
// clients, and its release may meet another session.
func TestPgBouncerLendsSessions(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "postgres-pgbouncer")
	s := backendstest.Start(t, "postgres-pgbouncer")
	if len(s.Nodes) != 2 || s.Alive() != nil || !strings.Contains(s.Version, "PgBouncer 1.") || len(s.Addrs()) != 1 ||
		s.Addrs()[0] != s.Nodes[1].Addr {
		t.Errorf("version %q, clients connect to %v", s.Version, s.Addrs())
	}
	ctx := backendstest.Limit(t)
	conn, err := pgx.Connect(ctx, "postgres://"+logins.PostgresUser+"@"+s.Addrs()[0]+"/"+logins.PostgresDatabase+"?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var limited string
	// as clients/postgres asks for it
	if err := conn.QueryRow(ctx, "SELECT current_setting('lock_timeout')").Scan(&limited); err != nil || limited != "100ms" {
		t.Errorf("lock_timeout %q, %v", limited, err)
	}
	first := backendstest.Open(t, postgres.AdvisoryPooled, s, backendstest.KeptTTL, 1)
	second := backendstest.Open(t, postgres.AdvisoryPooled, s, backendstest.KeptTTL, 2)
	if _, err := first.Acquire(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	decided.Run(t, func() {
		if _, err := second.Acquire(backendstest.Shortly(t), "k"); err != nil {
			decided.Lacks("the session that has the lock, lent to the second client: %v", err)
		}
	})
	honest := backendstest.Open(t, postgres.AdvisoryXactPooled, s, backendstest.KeptTTL, 3)
	other := backendstest.Open(t, postgres.AdvisoryXactPooled, s, backendstest.KeptTTL, 4)
	if _, err := honest.Acquire(ctx, "x"); err != nil {
		t.Fatal(err)
	}
	backendstest.Refused(t, other, "x") // a lock of a transaction that is open
}
