package backends

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// The questions about a client's backends, which PostgreSQL knows by their address
// (https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ACTIVITY-VIEW).
const (
	// What a backend has is counted before it is terminated: it may be gone at once.
	postgresTerminate = `WITH backend AS MATERIALIZED (SELECT pid,
			(SELECT count(*) FROM pg_locks l WHERE l.pid = a.pid AND l.granted AND l.locktype IN ('advisory', 'relation')) AS locks
			FROM pg_stat_activity a WHERE client_addr = $1::inet AND backend_type = 'client backend' AND pid <> pg_backend_pid())
		SELECT pid, pg_terminate_backend(pid), locks FROM backend ORDER BY pid`
	postgresGone = `SELECT count(*) FROM pg_stat_activity WHERE pid = ANY($1)`
)

// operator keeps the connection for ending sessions, from its first use on: to open one,
// PostgreSQL starts a process, which on a busy machine takes longer than many a lease lasts.
type operator struct {
	mu     sync.Mutex
	conn   *pgx.Conn // nil: none, or in use
	closed bool
}

// take returns the kept connection, or else a new one to the server at addr.
func (o *operator) take(ctx context.Context, addr string) (*pgx.Conn, error) {
	o.mu.Lock()
	conn := o.conn
	o.conn = nil
	o.mu.Unlock()
	if conn != nil {
		if conn.Ping(ctx) == nil {
			return conn, nil
		}
		conn.Close(ctx) // the server was restarted, or cut off
	}
	return dialPostgres(ctx, addr)
}

// giveBack keeps the connection, unless it failed or another is kept.
func (o *operator) giveBack(ctx context.Context, conn *pgx.Conn, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil || o.conn != nil || o.closed {
		conn.Close(ctx)
		return
	}
	o.conn = conn
}

func (o *operator) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if o.conn != nil {
		o.conn.PgConn().Conn().Close() // without a goodbye, for which nobody may be there
		o.conn = nil
	}
}

// expirePostgres terminates the backends that serve the client, and returns
// when they have ended, with their transactions and their locks.
func expirePostgres(ctx context.Context, s *Service, c Client) (ended []string, err error) {
	conn, err := s.operator.take(ctx, s.Nodes[0].Addr)
	if err != nil {
		return nil, err
	}
	defer func() { s.operator.giveBack(ctx, conn, err) }()
	rows, err := conn.Query(ctx, postgresTerminate, c.Addr.String())
	if err != nil {
		return nil, err
	}
	var pids []int32
	var pid int32
	var told bool
	var locks int
	if _, err := pgx.ForEachRow(rows, []any{&pid, &told, &locks}, func() error {
		if told {
			pids = append(pids, pid)
			ended = append(ended, fmt.Sprintf("PostgreSQL terminated backend %d, which had %s", pid,
				counted(locks, "lock")))
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("pg_terminate_backend: %w", err)
	}
	for step := firstStep; len(pids) > 0; step = longer(step) {
		var left int
		if err := conn.QueryRow(ctx, postgresGone, pids).Scan(&left); err != nil {
			return nil, fmt.Errorf("pg_stat_activity: %w", err)
		}
		if left == 0 {
			break
		}
		select {
		case <-time.After(step):
		case <-ctx.Done():
			return nil, fmt.Errorf("%d of backends %v go on after pg_terminate_backend: %w", left, pids,
				context.Cause(ctx))
		}
	}
	return ended, nil
}
