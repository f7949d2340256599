package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"
)

// mariadbSession is a client's own connection to MariaDB.
type mariadbSession struct {
	k    *mariadbKeeper
	conn *sql.Conn // nil: the next transaction makes one
	tx   *sql.Tx
}

// mariadbLevels are the isolation levels as database/sql has them.
var mariadbLevels = map[string]sql.IsolationLevel{ReadCommitted: sql.LevelReadCommitted,
	RepeatableRead: sql.LevelRepeatableRead, Serializable: sql.LevelSerializable}

func (k *mariadbKeeper) session(ctx context.Context) (sessionLine, error) {
	s := &mariadbSession{k: k}
	return s, s.connect(ctx)
}

func (s *mariadbSession) connect(ctx context.Context) (err error) {
	s.conn, err = s.k.db.Conn(ctx)
	return err
}

func (s *mariadbSession) begin(ctx context.Context, isolation string) (err error) {
	if s.conn == nil {
		if err := s.connect(ctx); err != nil {
			return err
		}
	}
	// its context bounds a request, and not the transaction
	s.tx, err = s.conn.BeginTx(context.WithoutCancel(ctx), &sql.TxOptions{Isolation: mariadbLevels[isolation]})
	return err
}

func (s *mariadbSession) carryOut(ctx context.Context, e *Entry) (done bool, err error) {
	done, err = true, s.row(ctx, e.Key)
	switch {
	case err != nil:
	case e.Write:
		done, err = s.write(ctx, e)
	default:
		err = s.read(ctx, e)
	}
	if err == nil && done {
		err = s.tx.QueryRowContext(ctx, "SELECT version, value, fence FROM registers WHERE `key` = ?", e.Key).
			Scan(&e.Version, &e.Value, &e.Fence)
	}
	if answered, ok := errors.AsType[*mysql.MySQLError](err); ok && answered.Number == dataOutOfRange {
		return false, overflow(e)
	}
	if err != nil {
		return false, fmt.Errorf("mariadb at %s: %w", s.k.addr, err)
	}
	if e.Write {
		e.Replaced = e.Version - 1
	}
	return done, nil
}

// row makes a key's row, outside of the transaction. It does so once only, since to insert what is
// there already waits for the transactions that change it.
func (s *mariadbSession) row(ctx context.Context, key string) error {
	if _, known := s.k.rows.Load(key); known {
		return nil
	}
	_, err := s.k.db.ExecContext(ctx, "INSERT IGNORE INTO registers (`key`) VALUES (?)", key)
	if err == nil {
		s.k.rows.Store(key, true)
	}
	return err
}

// read raises the fence where reads do so. They then change the row, and so lock it until the
// transaction ends.
func (s *mariadbSession) read(ctx context.Context, e *Entry) error {
	if !s.k.fencing.Reads {
		return nil
	}
	_, err := s.tx.ExecContext(ctx, "UPDATE registers SET fence = ?, holder = ? WHERE `key` = ? AND fence < ?", e.Token,
		e.Grant, e.Key, e.Token)
	return err
}

func (s *mariadbSession) write(ctx context.Context, e *Entry) (done bool, err error) {
	f := s.k.fencing
	r, err := s.tx.ExecContext(ctx, mariadbChange, e.Mode, e.Value, e.Value, f.Writes, e.Token, f.Writes, e.Grant, e.Key,
		f.Writes, e.Token, e.Token, e.Grant, f.AcceptsEqual, e.Mode, e.Base)
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	return n > 0, err
}

func (s *mariadbSession) commit(ctx context.Context, entries []Entry) (rolledBack bool, err error) {
	for _, e := range entries {
		if _, err := s.tx.ExecContext(ctx, mariadbLeave, e.At, e.Key, e.Op, e.Grant, e.Client, e.Token, e.Version,
			e.Value, e.Replaced, e.Fence, e.Mode, e.Base); err != nil {
			return true, fmt.Errorf("mariadb at %s: %w", s.k.addr, err) // COMMIT was not sent
		}
	}
	if err := s.tx.Commit(); err != nil {
		_, answered := errors.AsType[*mysql.MySQLError](err)
		return answered, fmt.Errorf("mariadb at %s: commit: %w", s.k.addr, err)
	}
	return false, nil
}

func (s *mariadbSession) rollback() {
	// Where the connection broke, the server rolls back by itself.
	if s.tx != nil {
		_ = s.tx.Rollback()
	}
	_ = s.close()
}

func (s *mariadbSession) close() error {
	if s.conn == nil {
		return nil
	}
	err := s.conn.Close()
	s.conn, s.tx = nil, nil
	return err
}

// collect reads without locks, so that it waits for no open transaction.
func (k *mariadbKeeper) collect(ctx context.Context) (last int64, err error) {
	tx, err := k.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return 0, fmt.Errorf("mariadb at %s: %w", k.addr, err)
	}
	defer tx.Rollback() // after the commit it does nothing
	var at int64
	err = tx.QueryRowContext(ctx, "SELECT seq, at FROM head WHERE epoch = ? FOR UPDATE", k.epoch).Scan(&last, &at)
	if errors.Is(err, sql.ErrNoRows) {
		err = errEpoch
	}
	if err == nil {
		last, err = moveChanges(ctx, tx, last, at)
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return 0, fmt.Errorf("mariadb at %s: %w", k.addr, err)
	}
	return last, nil
}

// moveChanges moves what is committed behind the ledger's last entry.
func moveChanges(ctx context.Context, tx *sql.Tx, last, at int64) (int64, error) {
	rows, err := tx.QueryContext(ctx, "SELECT id, at FROM changes ORDER BY id")
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var ids, stamps []int64
	for rows.Next() {
		var id, stamp int64
		if err := rows.Scan(&id, &stamp); err != nil {
			return 0, err
		}
		at = max(at, stamp)
		ids, stamps = append(ids, id), append(stamps, at)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return 0, err
	}
	for i, id := range ids {
		last++
		if _, err := tx.ExecContext(ctx, mariadbMove, last, stamps[i], id); err != nil {
			return 0, err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM changes WHERE id = ?", id); err != nil {
			return 0, err
		}
	}
	_, err = tx.ExecContext(ctx, "UPDATE head SET seq = ?, at = ?", last, at)
	return last, err
}

// mariadbChange writes in a transaction, where mariadbFence would let it.
const mariadbChange = `
UPDATE registers SET version = version + 1, value = IF(? = 'add', value + ?, ?), fence = IF(?, ?, fence), holder = IF(?, ?, holder)
WHERE ` + "`key`" + ` = ? AND (NOT ? OR fence < ? OR fence = ? AND (holder = ? OR ?)) AND (? <> 'if-version' OR version = ?)`

// mariadbLeave leaves a write for collect. The ids of a key's writes rise as their versions do: the
// second transaction changes the key's row when the first has committed.
const mariadbLeave = "INSERT INTO changes (at, `key`, op, granted, client, token, version, value, replaced, fence, mode, base) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

// mariadbMove copies what one write left into the ledger.
const mariadbMove = `
INSERT INTO ledger SELECT ?, ?, ` + "`key`" + `, op, granted, client, token, TRUE, FALSE, FALSE, version, value, replaced, fence, mode, base FROM changes WHERE id = ?`
