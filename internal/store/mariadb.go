package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"strings"
	"sync"

	"github.com/go-sql-driver/mysql"

	"github.com/lockchaos/lockchaos/internal/logins"
)

// mariadbKeeper is the engine on a MariaDB server: a request is one call of a procedure, which is
// one transaction of InnoDB (mariadb_sql.go). Nothing is sent within it, so no transaction waits
// for a client, and a connection that is cut leaves none open.
type mariadbKeeper struct {
	addr, version string
	fencing       Fencing
	epoch         int64
	db            *sql.DB
	rows          sync.Map // keys that are known to have a row, for sessions
}

func openMariaDB(ctx context.Context, s Spec) (Engine, error) {
	k := &mariadbKeeper{addr: s.Addrs[0], fencing: s.Fencing}
	if err := k.prepare(ctx, s.Name); err != nil {
		return nil, fmt.Errorf("prepare the ledger in mariadb at %s: %w", k.addr, err)
	}
	r, err := newRemote(ctx, k, s.Fencing)
	if err != nil {
		return nil, fmt.Errorf("open the ledger in mariadb at %s: %w", k.addr, err)
	}
	return r, nil
}

// connect prepares connections to a database of the server; "": to none. database/sql sends a
// statement again only where the driver knows that nothing of it was sent.
func (k *mariadbKeeper) connect(database string) (*sql.DB, error) {
	config := mysql.NewConfig()
	config.User, config.DBName, config.Net, config.Addr = logins.MariaDBUser, database, "tcp", k.addr
	config.InterpolateParams = true            // one exchange a statement, nothing to prepare
	config.Logger = log.New(io.Discard, "", 0) // what goes wrong is in the errors
	// A sum that does not fit is an error. Who waits for the head longer than a client does has
	// none left.
	config.Params = map[string]string{"sql_mode": "'STRICT_ALL_TABLES'",
		"innodb_lock_wait_timeout": fmt.Sprint(int(answerLimit.Seconds()))}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// prepare makes the database, its tables and the procedure, if they are not there.
func (k *mariadbKeeper) prepare(ctx context.Context, name string) error {
	server, err := k.connect("")
	if err != nil {
		return err
	}
	defer server.Close()
	if err := server.QueryRowContext(ctx, "SELECT VERSION()").Scan(&k.version); err != nil {
		return err
	}
	k.version, _, _ = strings.Cut(k.version, "-") // what follows is the packager's
	if _, err := server.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS "+name); err != nil {
		return err
	}
	if k.db, err = k.connect(name); err != nil {
		return err
	}
	for _, statement := range mariadbSchema {
		if _, err := k.db.ExecContext(ctx, statement); err != nil {
			return errors.Join(err, k.db.Close())
		}
	}
	return nil
}

// Version names the engine and its server's version.
func (k *mariadbKeeper) Version() string { return "mariadb " + k.version }

// claim changes the epoch. It waits for a transaction that holds the head's row, and one that comes
// later finds another epoch.
func (k *mariadbKeeper) claim(ctx context.Context) (last int64, err error) {
	if err := k.db.QueryRowContext(ctx, mariadbClaim).Scan(&k.epoch, &last); err != nil {
		return 0, fmt.Errorf("mariadb at %s: %w", k.addr, err)
	}
	return last, nil
}

func (k *mariadbKeeper) carryOut(ctx context.Context, e *Entry) error {
	err := k.db.QueryRowContext(ctx, "CALL request(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", k.epoch, e.At, e.Key,
		e.Op, e.Grant, e.Client, e.Token, e.Write, e.Value,
		e.Mode, e.Base, k.fencing.Writes, k.fencing.Reads, k.fencing.AcceptsEqual).
		Scan(&e.Seq, &e.At, &e.Refused, &e.Conflict, &e.Version, &e.Value, &e.Replaced, &e.Fence)
	if answered, ok := errors.AsType[*mysql.MySQLError](err); ok && answered.Number == dataOutOfRange {
		return overflow(e)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		err = errEpoch
	}
	return fmt.Errorf("mariadb at %s: %w", k.addr, err)
}

// dataOutOfRange is MariaDB's number for a sum that does not fit (ER_DATA_OUT_OF_RANGE). The
// transaction was rolled back.
const dataOutOfRange = 1690

func (k *mariadbKeeper) entries(ctx context.Context, after int64, limit int) ([]Entry, error) {
	rows, err := k.db.QueryContext(ctx, mariadbEntries, after, limit)
	if err != nil {
		return nil, fmt.Errorf("mariadb at %s: %w", k.addr, err)
	}
	defer rows.Close()
	var entries []Entry
	for rows.Next() {
		var e Entry
		if err := rows.Scan(&e.Seq, &e.At, &e.Key, &e.Op, &e.Grant, &e.Client, &e.Token, &e.Write, &e.Refused,
			&e.Conflict,
			&e.Version, &e.Value, &e.Replaced, &e.Fence, &e.Mode, &e.Base); err != nil {
			return nil, fmt.Errorf("mariadb at %s: %w", k.addr, err)
		}
		entries = append(entries, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("mariadb at %s: %w", k.addr, err)
	}
	return entries, nil
}

// Close gives the connections up.
func (k *mariadbKeeper) Close() error { return k.db.Close() }
