// The session locker of github.com/pressly/goose/v3/lock on one PostgreSQL
// server, as an adapter for lockchaos. It is used as goose's Provider uses it:
// on a connection of its own, which goes back to the pool afterwards.
package main

import (
	"context"
	"database/sql"
	"errors"
	"hash/crc32"

	_ "github.com/jackc/pgx/v5/stdlib"
	goose "github.com/pressly/goose/v3/lock"

	"example.com/golocks/protocol"
)

type lock struct {
	db   *sql.DB
	held map[string]hold
}

type hold struct {
	locker goose.SessionLocker
	conn   *sql.Conn
}

func open(h protocol.Hello) (protocol.Lock, error) {
	db, err := sql.Open("pgx", "postgres://lockchaos@"+h.Nodes[0]+"/postgres?sslmode=disable")
	return &lock{db: db, held: map[string]hold{}}, err
}

func (l *lock) Declare() protocol.Declaration {
	return protocol.Declaration{
		Name:     "goose session locker " + protocol.Version("github.com/pressly/goose/v3"),
		Validity: "session",
		Confirms: []string{"release"}, // it looks at what pg_advisory_unlock answers
		Can:      []string{"cancel"},
		NoExpiry: true, // a session-level advisory lock is held until it is released, or the session ends
		// The locker does not tell of a session that has ended.
	}
}

// locker tries as often as it can: once a second, for as long as the context lasts.
func locker(key string) (goose.SessionLocker, error) {
	return goose.NewPostgresSessionLocker(
		goose.WithLockID(int64(crc32.ChecksumIEEE([]byte(key)))),
		goose.WithLockTimeout(1, 1<<20),
		goose.WithUnlockTimeout(1, 1<<20),
	)
}

func (l *lock) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	locker, err := locker(key)
	if err != nil {
		return protocol.Grant{}, err
	}
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return protocol.Grant{}, err
	}
	first := protocol.Now()
	if err := locker.SessionLock(ctx, conn); err != nil {
		return protocol.Grant{First: first}, errors.Join(err, conn.Close())
	}
	l.held[key] = hold{locker, conn}
	return protocol.Grant{First: first}, nil
}

func (l *lock) Release(ctx context.Context, key string) error {
	h, ok := l.held[key]
	if !ok {
		return protocol.NotHeld
	}
	delete(l.held, key)
	return errors.Join(h.locker.SessionUnlock(ctx, h.conn), h.conn.Close())
}

func (l *lock) Close(context.Context) error { return l.db.Close() }

func main() { protocol.Main(open) }
