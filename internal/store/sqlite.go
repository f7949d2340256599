package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sync"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// SQLite is the engine on one SQLite file.
//
// One goroutine decides and writes; requests that wait while a transaction is committed
// share the next one (group commit), so the engine is quick with many clients and no
// slower than one transaction per request with one. What decides (version, value, fence
// of every key) is kept in memory and rebuilt from the ledger when the file is opened.
type SQLite struct {
	fencing Fencing
	version string

	queue chan *pending
	stop  chan struct{} // closed by Close
	done  chan struct{} // closed when the writer has ended
	once  sync.Once

	write, read *sql.DB

	// The writer's own.
	conn   *sql.Conn
	insert map[int]*sql.Stmt // by number of rows
	keys   map[string]*register
	seq    int64
	broken error
}

type pending struct {
	request Request
	write   bool
	entry   Entry
	err     error
	done    chan struct{}
}

// schema makes the ledger append-only for everyone who opens the file, not only for this program.
const schema = `
CREATE TABLE IF NOT EXISTS ledger (
	seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, key TEXT NOT NULL,
	op INTEGER NOT NULL, "grant" INTEGER NOT NULL, client INTEGER NOT NULL, token INTEGER NOT NULL,
	"write" INTEGER NOT NULL, refused INTEGER NOT NULL, conflict INTEGER NOT NULL,
	version INTEGER NOT NULL, value INTEGER NOT NULL, replaced INTEGER NOT NULL, fence INTEGER NOT NULL,
	mode TEXT NOT NULL, base INTEGER NOT NULL, guard TEXT NOT NULL
) STRICT;
CREATE TRIGGER IF NOT EXISTS ledger_no_update BEFORE UPDATE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER IF NOT EXISTS ledger_no_delete BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;`

const columns = `seq, at, key, op, "grant", client, token, "write", refused, conflict, version, value, replaced, fence, mode, base, guard`

const columnCount = 17

// maxBatch bounds a transaction, and with it the time that a request waits behind others.
const maxBatch = 128

// OpenSQLite opens the ledger in the file, or makes it. Only one process may
// have it open for writing.
func OpenSQLite(ctx context.Context, file string, f Fencing) (*SQLite, error) {
	if err := f.validFor("sqlite"); err != nil {
		return nil, err
	}
	s := &SQLite{
		fencing: f, queue: make(chan *pending, maxBatch), stop: make(chan struct{}), done: make(chan struct{}),
		insert: map[int]*sql.Stmt{}, keys: map[string]*register{},
	}
	if err := s.open(ctx, file); err != nil {
		s.closeFiles()
		return nil, fmt.Errorf("open ledger %s: %w", file, err)
	}
	go s.run()
	return s, nil
}

func (s *SQLite) open(ctx context.Context, file string) error {
	// synchronous=off: see Guarantees. WAL: Entries reads while the writer writes.
	pragmas := url.Values{"_pragma": {"journal_mode(wal)", "synchronous(off)", "busy_timeout(1000)"},
		"_txlock": {"immediate"}}
	dsn := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: file}).EscapedPath(), RawQuery: pragmas.Encode()}).String()
	var err error
	if s.write, err = sql.Open("sqlite", dsn); err != nil {
		return err
	}
	if s.read, err = sql.Open("sqlite", dsn); err != nil {
		return err
	}
	s.read.SetMaxOpenConns(2)
	if s.conn, err = s.write.Conn(ctx); err != nil {
		return err
	}
	if _, err := s.conn.ExecContext(ctx, schema); err != nil {
		return err
	}
	if err := s.conn.QueryRowContext(ctx, `SELECT sqlite_version()`).Scan(&s.version); err != nil {
		return err
	}
	return s.recover(ctx)
}

// recover rebuilds what decides from what was decided.
func (s *SQLite) recover(ctx context.Context) error {
	rows, err := s.conn.QueryContext(ctx, `
		SELECT key, max(seq), max(fence), max(iif("write", version, 0)),
			coalesce((SELECT value FROM ledger w WHERE w.key = l.key AND "write" AND version > 0 ORDER BY seq DESC LIMIT 1), 0),
			(SELECT "grant" FROM ledger w WHERE w.key = l.key ORDER BY fence DESC, seq LIMIT 1)
		FROM ledger l GROUP BY key`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		var seq int64
		var r register
		if err := rows.Scan(&key, &seq, &r.Fence, &r.Version, &r.Value, &r.Holder); err != nil {
			return err
		}
		s.keys[key] = &r
		s.seq = max(s.seq, seq)
	}
	return rows.Err()
}

// Version names the engine and the version of the SQLite library, as the library reports it.
func (s *SQLite) Version() string { return "sqlite " + s.version }

// Fencing returns the kind of store that this is.
func (s *SQLite) Fencing() Fencing { return s.fencing }

// Do carries a request out; see Ledger.
func (s *SQLite) Do(ctx context.Context, r Request, write bool) (Entry, error) {
	if err := r.Validate(write, s.fencing); err != nil {
		return Entry{}, err
	}
	p := &pending{request: r, write: write, done: make(chan struct{})}
	select {
	case s.queue <- p:
	case <-ctx.Done():
		return Entry{}, ctx.Err()
	case <-s.stop:
		return Entry{}, errClosed
	}
	select {
	case <-p.done:
		return p.entry, p.err
	case <-ctx.Done():
		return Entry{}, ctx.Err()
	case <-s.done:
		return Entry{}, errClosed
	}
}

var errClosed = errors.New("the ledger is closed")

// Entries returns a piece of the ledger; see Ledger.
func (s *SQLite) Entries(ctx context.Context, after int64, limit int) ([]Entry, error) {
	if err := validPage(after, limit); err != nil {
		return nil, err
	}
	rows, err := s.read.QueryContext(ctx, `SELECT `+columns+` FROM ledger WHERE seq > ? ORDER BY seq LIMIT ?`, after,
		limit)
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	defer rows.Close()
	var entries []Entry
	for rows.Next() {
		var e Entry
		if err := rows.Scan(&e.Seq, &e.At, &e.Key, &e.Op, &e.Grant, &e.Client, &e.Token, &e.Write, &e.Refused,
			&e.Conflict,
			&e.Version, &e.Value, &e.Replaced, &e.Fence, &e.Mode, &e.Base, &e.Guard); err != nil {
			return nil, fmt.Errorf("read ledger: %w", err)
		}
		entries = append(entries, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	return entries, nil
}

// Close ends the writer and closes the files. Requests still waiting get an
// error that is not definite.
func (s *SQLite) Close() error {
	var err error
	s.once.Do(func() {
		close(s.stop)
		<-s.done
		err = s.closeFiles()
	})
	return err
}

func (s *SQLite) closeFiles() error {
	var errs []error
	for _, n := range slices.Sorted(maps.Keys(s.insert)) {
		errs = append(errs, s.insert[n].Close())
	}
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}
