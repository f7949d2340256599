package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockchaos/lockchaos/internal/logins"
)

// postgresKeeper is the engine on a PostgreSQL server: a request is one
// statement, so one transaction, that counts the ledger's number up in a table,
// changes the key's row only where the fence lets it, and inserts the entry.
type postgresKeeper struct {
	addr, version string
	fencing       Fencing
	epoch         int64
	rows          map[string]bool // keys that are known to have a row
	schema        string

	write, read pgLine
}

// pgLine is a connection that is made when it is needed, and again when it
// broke. It is used by one caller at a time.
type pgLine struct {
	config *pgx.ConnConfig
	mu     sync.Mutex
	conn   *pgx.Conn
}

func openPostgres(ctx context.Context, s Spec) (Engine, error) {
	k := &postgresKeeper{addr: s.Addrs[0], fencing: s.Fencing, rows: map[string]bool{}, schema: s.Name}
	host, port, err := net.SplitHostPort(k.addr)
	if err != nil {
		return nil, fmt.Errorf("postgres at %s: %w: %w", k.addr, err, ErrBadRequest)
	}
	config, err := pgx.ParseConfig(fmt.Sprintf("host=%s port=%s user=%s dbname=%s sslmode=disable application_name=lockchaos-store",
		host, port, logins.PostgresUser, logins.PostgresDatabase))
	if err != nil {
		return nil, fmt.Errorf("postgres at %s: %w", k.addr, err)
	}
	config.RuntimeParams["search_path"] = s.Name
	// An answered request must be in the server's files, and a statement whose
	// client has gone must not wait for ever.
	config.RuntimeParams["synchronous_commit"] = "on"
	config.RuntimeParams["statement_timeout"] = fmt.Sprint(answerLimit.Milliseconds())
	k.write.config, k.read.config = config, config
	if err := k.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare the ledger in postgres at %s: %w", k.addr, err), k.Close())
	}
	r, err := newRemote(ctx, k, s.Fencing)
	if err != nil {
		return nil, fmt.Errorf("open the ledger in postgres at %s: %w", k.addr, err)
	}
	return r, nil
}

// prepare makes the tables, if they are not there.
func (k *postgresKeeper) prepare(ctx context.Context) error {
	return k.write.do(ctx, func(c *pgx.Conn) error {
		if err := c.QueryRow(ctx, "SHOW server_version").Scan(&k.version); err != nil {
			return err
		}
		k.version, _, _ = strings.Cut(k.version, " ") // what follows is the packager's
		_, err := c.PgConn().Exec(ctx, strings.ReplaceAll(postgresSchema, "SCHEMA_NAME", k.schema)).ReadAll()
		return err
	})
}

// do calls with a connection that stands.
func (l *pgLine) do(ctx context.Context, call func(*pgx.Conn) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	// pgx closes it after any error but one that the server answered
	if l.conn == nil || l.conn.IsClosed() {
		conn, err := pgx.ConnectConfig(ctx, l.config)
		if err != nil {
			return err
		}
		l.conn = conn
	}
	return call(l.conn)
}

func (l *pgLine) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerLimit)
	defer cancel()
	return l.conn.Close(ctx)
}

// Version names the engine and its server's version.
func (k *postgresKeeper) Version() string { return "postgres " + k.version }

// claim changes the epoch. It waits for a request that holds the head's row,
// and one that comes later finds another epoch.
func (k *postgresKeeper) claim(ctx context.Context) (last int64, err error) {
	err = k.write.do(ctx, func(c *pgx.Conn) error {
		clear(k.rows)
		return c.QueryRow(ctx, `UPDATE head SET epoch = epoch + 1 RETURNING epoch, seq`).Scan(&k.epoch, &last)
	})
	if err != nil {
		return 0, fmt.Errorf("postgres at %s: %w", k.addr, err)
	}
	return last, nil
}

func (k *postgresKeeper) carryOut(ctx context.Context, e *Entry) error {
	err := k.write.do(ctx, func(c *pgx.Conn) error {
		if err := k.row(ctx, c, e.Key); err != nil {
			return err
		}
		return k.request(ctx, c, e)
	})
	var answered *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answered) && answered.Code == outOfRange:
		return overflow(e)
	case errors.Is(err, pgx.ErrNoRows):
		err = errEpoch
	}
	return fmt.Errorf("postgres at %s: %w", k.addr, err)
}

// row makes a key's row, if it is not there.
func (k *postgresKeeper) row(ctx context.Context, c *pgx.Conn, key string) error {
	if k.rows[key] {
		return nil
	}
	if _, err := c.Exec(ctx, `INSERT INTO registers (key) VALUES ($1) ON CONFLICT DO NOTHING`, key); err != nil {
		return err
	}
	k.rows[key] = true
	return nil
}

// outOfRange is PostgreSQL's code for a sum that does not fit (numeric_value_out_of_range).
const outOfRange = "22003"

func (k *postgresKeeper) request(ctx context.Context, c *pgx.Conn, e *Entry) error {
	if !e.Write {
		return c.QueryRow(ctx, postgresRead, k.epoch, e.At, e.Key, e.Op, e.Grant, e.Client, e.Token, k.fencing.Reads).
			Scan(&e.Seq, &e.At, &e.Version, &e.Value, &e.Fence)
	}
	statement, last := postgresWrite, any(k.fencing.AcceptsEqual)
	if k.fencing.Guarded {
		statement, last = postgresGuarded, e.Guard
	}
	return c.QueryRow(ctx, statement, k.epoch, e.At, e.Key, e.Op, e.Grant, e.Client, e.Token, e.Value, e.Mode, e.Base,
		k.fencing.Writes, last).
		Scan(&e.Seq, &e.At, &e.Refused, &e.Conflict, &e.Version, &e.Value, &e.Replaced, &e.Fence)
}

func (k *postgresKeeper) entries(ctx context.Context, after int64, limit int) (entries []Entry, err error) {
	err = k.read.do(ctx, func(c *pgx.Conn) error {
		rows, err := c.Query(ctx, `SELECT seq, at, key, op, "grant", client, token, "write", refused, conflict, version, value, replaced, fence, mode, base
			FROM ledger WHERE seq > $1 ORDER BY seq LIMIT $2`, after, limit)
		if err != nil {
			return err
		}
		entries, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (e Entry, err error) {
			return e, row.Scan(&e.Seq, &e.At, &e.Key, &e.Op, &e.Grant, &e.Client, &e.Token, &e.Write, &e.Refused,
				&e.Conflict,
				&e.Version, &e.Value, &e.Replaced, &e.Fence, &e.Mode, &e.Base)
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("postgres at %s: %w", k.addr, err)
	}
	return entries, nil
}

// Close gives the connections up.
func (k *postgresKeeper) Close() error { return errors.Join(k.write.close(), k.read.close()) }
