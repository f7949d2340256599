package probe

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// poolerTries is how often two clients compare the sessions that they are given.
const poolerTries = 20

// poolerWait is how long the second of two clients waits for a session.
const poolerWait = 5 * time.Second

// What a pooler leaves of advisory locks.
const (
	poolsSessions     = "advisory locks survive as without it, until the client's connection ends"
	poolsTransactions = "POOLER: pg_advisory_lock does not survive its transaction: another client gets the session that holds it, and is granted it too. " +
		"pg_advisory_xact_lock survives until its transaction ends; use that, or rows, or pool by session"
	poolsStatements = "POOLER: no advisory lock survives its statement, of a session or of a transaction: use rows, or pool by session"
)

// pooler says whether a pooler is between, and what it leaves of advisory locks. A pooler tells its
// clients a number of its own where the server tells that of the session. It writes nothing.
func (p *postgresServer) pooler(ctx context.Context) (Fact, error) {
	f, is, err := p.pgpool(ctx)
	if is || err != nil {
		return f, err
	}
	f = Fact{Name: "pooler", Text: "none is seen"}
	session, err := backendOf(ctx, p.conn)
	if err != nil || session == p.conn.PgConn().PID() {
		return f, err
	}
	other, err := p.connect(ctx)
	if err != nil {
		return f, fmt.Errorf("connect a second time, to see how the pooler shares sessions: %w", err)
	}
	defer (&postgresServer{conn: other}).close()
	for range poolerTries {
		mine, err := backendOf(ctx, p.conn)
		if err != nil {
			return f, err
		}
		late, cancel := context.WithTimeout(ctx, poolerWait)
		theirs, err := backendOf(late, other)
		cancel()
		if err != nil && late.Err() != nil && ctx.Err() == nil {
			f.Text = fmt.Sprintf("there is one, which gave a second client no session for %v: it pools by session, or its pool is full", poolerWait)
			return f, nil
		}
		if err != nil {
			return f, err
		}
		if mine == theirs {
			return p.sharing(ctx, mine)
		}
	}
	f.Text = fmt.Sprintf("there is one, which gave two clients sessions of their own, %d times of %d (pool_mode session): %s",
		poolerTries, poolerTries, poolsSessions)
	return f, nil
}

// backendOf is the number of the server's session that answers.
func backendOf(ctx context.Context, c *pgx.Conn) (pid uint32, err error) {
	err = c.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid)
	return pid, err
}

// sharing says whether a pooler that shares sessions leaves a client one for a transaction.
func (p *postgresServer) sharing(ctx context.Context, pid uint32) (Fact, error) {
	f := Fact{Name: "pooler", Text: fmt.Sprintf("there is one, which gave two clients one session of the server (%d), one after the other", pid)}
	third, err := p.connect(ctx)
	if err != nil {
		return f, fmt.Errorf("connect once more, to see whether the pooler knows transactions: %w", err)
	}
	defer (&postgresServer{conn: third}).close()
	switch _, err := third.Exec(ctx, "BEGIN"); {
	case err == nil:
		_, err = third.Exec(ctx, "ROLLBACK")
		f.Text, f.Warning = f.Text+" (pool_mode transaction)", poolsTransactions
		return f, err
	case coded(err, "08P01") != "": // protocol_violation: PgBouncer's answer where it pools by statement
		f.Text, f.Warning = f.Text+" (pool_mode statement)", poolsStatements
		return f, nil
	default:
		return f, fmt.Errorf("begin a transaction: %w", err)
	}
}
