package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/internal/connection"
)

// sessions gives locks that a connection holds.
type sessions struct {
	*pool
	scheme scheme
}

func (s sessions) String() string { return "PostgreSQL at " + s.at() }

// Take asks once, for as long as the server lets a statement wait.
func (s sessions) Take(ctx context.Context, key string) (connection.Conn, error) {
	c, err := s.Borrow(ctx)
	if err != nil {
		return nil, err
	}
	late, cancel := clients.WithGrace(ctx, grace)
	defer cancel()
	err = s.try(late, c, key)
	if err != nil || ctx.Err() != nil {
		return nil, s.undo(late, c, key, err)
	}
	return holding{s, c, key}, nil
}

func (s sessions) try(ctx context.Context, c *pgx.Conn, key string) error {
	if s.scheme.prepare != "" {
		if _, err := c.Exec(ctx, s.scheme.prepare, s.scheme.argument(key)); err != nil {
			return fmt.Errorf("%s: %w", s.scheme.prepare, err)
		}
	}
	if s.scheme.begin != "" {
		if _, err := c.Exec(ctx, s.scheme.begin); err != nil {
			return fmt.Errorf("%s: %w", s.scheme.begin, err)
		}
	}
	_, err := c.Exec(ctx, s.scheme.take, s.scheme.argument(key))
	return err
}

// undo leaves nothing behind of a try that failed, or that came too late. What
// can't be taken back ends with its connection.
func (s sessions) undo(ctx context.Context, c *pgx.Conn, key string, because error) error {
	defer s.Return(c)
	if because != nil && !answered(because) {
		s.Drop(c)
		return opened(because)
	}
	ofSession := s.scheme.begin == ""
	if because == nil || ofSession || !c.IsClosed() && c.PgConn().TxStatus() != 'I' {
		give, args := "ROLLBACK", []any(nil)
		if ofSession {
			// Also when the server says that lock_timeout ran out: a lock that
			// was granted at that very moment stays with the session, since the
			// end of a statement takes back what belongs to its transaction only
			// (LockErrorCleanup in proc.c). It would be nobody's, for ever.
			give, args = s.scheme.give, []any{s.scheme.argument(key)}
		}
		if _, err := c.Exec(ctx, give, args...); err != nil {
			s.Drop(c)
			if because == nil || ofSession {
				// it was ours for a moment, and may be until the server sees
				// the end of the connection
				return opened(err)
			}
		}
	}
	if because == nil || is(because, lockNotAvailable) {
		return clients.ErrBusy
	}
	return because
}

// holding is a connection that has a lock.
type holding struct {
	sessions
	conn *pgx.Conn
	key  string
}

func (h holding) Give(ctx context.Context) (held bool, err error) {
	if held = true; h.scheme.begin != "" {
		_, err = h.conn.Exec(ctx, h.scheme.give)
	} else {
		err = h.conn.QueryRow(ctx, h.scheme.give, h.scheme.argument(h.key)).Scan(&held)
	}
	return held, opened(err)
}

func (h holding) Free() { h.Return(h.conn) }

func (h holding) Held(ctx context.Context) (held bool, err error) {
	err = h.conn.QueryRow(ctx, h.scheme.held, h.scheme.argument(h.key)).Scan(&held)
	return held, err
}

func (h holding) Cut() { _ = h.conn.PgConn().Conn().Close() }
