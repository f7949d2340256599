package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// postgresSession is a client's own connection to PostgreSQL.
type postgresSession struct {
	k    *postgresKeeper
	line pgLine
	tx   pgx.Tx
}

func (k *postgresKeeper) session(ctx context.Context) (sessionLine, error) {
	s := &postgresSession{k: k}
	s.line.config = k.write.config
	return s, s.line.do(ctx, func(*pgx.Conn) error { return nil })
}

func (s *postgresSession) begin(ctx context.Context, isolation string) error {
	level := pgx.TxIsoLevel(strings.ReplaceAll(isolation, "-", " "))
	return s.line.do(ctx, func(c *pgx.Conn) (err error) {
		s.tx, err = c.BeginTx(ctx, pgx.TxOptions{IsoLevel: level})
		return err
	})
}

func (s *postgresSession) carryOut(ctx context.Context, e *Entry) (done bool, err error) {
	// the row is made outside of the transaction
	if err := s.k.write.do(ctx, func(c *pgx.Conn) error { return s.k.row(ctx, c, e.Key) }); err != nil {
		return false, err
	}
	if e.Write {
		err = s.tx.QueryRow(ctx, postgresChange, e.Key, e.Token, e.Grant, e.Value, e.Mode, e.Base, s.k.fencing.Writes,
			s.k.fencing.AcceptsEqual).Scan(&e.Version, &e.Value, &e.Fence)
	} else {
		err = s.read(ctx, e)
	}
	var answered *pgconn.PgError
	switch {
	case e.Write && errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case errors.As(err, &answered) && answered.Code == outOfRange:
		return false, overflow(e)
	case err != nil:
		return false, fmt.Errorf("postgres at %s: %w", s.k.addr, err)
	}
	if e.Write {
		e.Replaced = e.Version - 1
	}
	return true, nil
}

// read reads a row. Where reads raise the fence they change the row, and so lock it until the
// transaction ends.
func (s *postgresSession) read(ctx context.Context, e *Entry) error {
	if s.k.fencing.Reads {
		if _, err := s.tx.Exec(ctx, `UPDATE registers SET fence = $2, holder = $3 WHERE key = $1 AND fence < $2`, e.Key,
			e.Token, e.Grant); err != nil {
			return err
		}
	}
	return s.tx.QueryRow(ctx, `SELECT version, value, fence FROM registers WHERE key = $1`, e.Key).
		Scan(&e.Version, &e.Value, &e.Fence)
}

func (s *postgresSession) commit(ctx context.Context, entries []Entry) (rolledBack bool, err error) {
	for _, e := range entries {
		if _, err := s.tx.Exec(ctx, postgresLeave, e.At, e.Key, e.Op, e.Grant, e.Client, e.Token, e.Version, e.Value,
			e.Replaced, e.Fence, e.Mode, e.Base); err != nil {
			return true, fmt.Errorf("postgres at %s: %w", s.k.addr, err) // COMMIT was not sent
		}
	}
	err = s.tx.Commit(ctx)
	var answered *pgconn.PgError
	if err != nil {
		err = fmt.Errorf("postgres at %s: commit: %w", s.k.addr, err)
	}
	return errors.As(err, &answered) || errors.Is(err, pgx.ErrTxCommitRollback), err
}

// rollback ends the transaction with its connection, which the server notices in any case.
func (s *postgresSession) rollback() { _ = s.close() }

func (s *postgresSession) close() error { return s.line.close() }

func (k *postgresKeeper) collect(ctx context.Context) (last int64, err error) {
	err = k.write.do(ctx, func(c *pgx.Conn) error {
		if _, err := c.Exec(ctx, postgresCollect, k.epoch); err != nil {
			return err
		}
		return c.QueryRow(ctx, `SELECT seq FROM head WHERE epoch = $1`, k.epoch).Scan(&last)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = errEpoch
	}
	if err != nil {
		return 0, fmt.Errorf("postgres at %s: %w", k.addr, err)
	}
	return last, nil
}

// postgresChange writes in a transaction. Its condition is that of postgresWrite, by the
// parameters that there are here.
const postgresChange = `
UPDATE registers r SET version = r.version + 1, value = CASE $5::text WHEN 'add' THEN r.value + $4::bigint ELSE $4 END,
	fence = CASE WHEN $7::boolean THEN $2::bigint ELSE r.fence END, holder = CASE WHEN $7 THEN $3::bigint ELSE r.holder END
WHERE r.key = $1::text AND (NOT $7 OR r.fence < $2 OR r.fence = $2 AND (r.holder = $3 OR $8::boolean))
	AND ($5 <> 'if-version' OR r.version = $6::bigint)
RETURNING r.version, r.value, r.fence`

// postgresLeave leaves a write for collect. The ids of a key's writes rise as their versions do:
// the second transaction changes the key's row when the first has committed.
const postgresLeave = `
INSERT INTO changes (at, key, op, "grant", client, token, version, value, replaced, fence, mode, base)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`

// postgresCollect moves what is committed into the ledger. Of another epoch it moves nothing.
const postgresCollect = `
WITH old AS (
	SELECT seq, at FROM head WHERE epoch = $1::bigint
), moved AS (
	DELETE FROM changes WHERE EXISTS (SELECT FROM old) RETURNING *
), placed AS (
	SELECT m.*, row_number() OVER (ORDER BY m.id) AS n, max(m.at) OVER (ORDER BY m.id) AS stamp FROM moved m
), numbered AS (
	UPDATE head SET seq = seq + (SELECT count(*) FROM moved), at = greatest(at, (SELECT max(m.at) FROM moved m)) WHERE epoch = $1
)
INSERT INTO ledger (seq, at, key, op, "grant", client, token, "write", refused, conflict, version, value, replaced, fence, mode, base)
SELECT old.seq + p.n, greatest(old.at, p.stamp), p.key, p.op, p."grant", p.client, p.token, true, false, false, p.version, p.value,
	p.replaced, p.fence, p.mode, p.base
FROM placed p, old`
