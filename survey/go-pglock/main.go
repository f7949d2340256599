// The lock of github.com/allisson/go-pglock/v3 on one PostgreSQL server, as an
// adapter for lockchaos.
package main

import (
	"context"
	"database/sql"
	"errors"
	"hash/fnv"
	"time"

	"github.com/allisson/go-pglock/v3"
	_ "github.com/lib/pq"

	"example.com/golocks/protocol"
)

type lock struct {
	db   *sql.DB
	held map[string]*pglock.Lock
}

func open(h protocol.Hello) (protocol.Lock, error) {
	db, err := sql.Open("postgres", "postgres://lockchaos@"+h.Nodes[0]+"/postgres?sslmode=disable")
	return &lock{db: db, held: map[string]*pglock.Lock{}}, err
}

func (l *lock) Declare() protocol.Declaration {
	return protocol.Declaration{
		Name: "go-pglock " + protocol.Version("github.com/allisson/go-pglock/v3"),
		// "Locks are held until explicitly released or the database connection closes"
		Validity: "session",
		Can:      []string{"cancel"},
		// Unlock does not look at the server's answer, so an ok confirms nothing.
	}
}

// Acquire does what the README's "Lock with Timeout" does.
func (l *lock) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	held, err := pglock.NewLock(ctx, number(key), l.db)
	if err != nil {
		return protocol.Grant{}, err
	}
	first := protocol.Now()
	if err := protocol.Within(ctx, time.Second, func() error { return held.WaitAndLock(ctx) }); err != nil {
		go held.Close() // database/sql waits there for a call that still runs
		return protocol.Grant{First: first}, err
	}
	l.held[key] = &held
	return protocol.Grant{First: first}, nil
}

// number is the lock's, of a hash of its name, as the README advises.
func number(key string) int64 {
	h := fnv.New64a()
	h.Write([]byte(key))
	return int64(h.Sum64())
}

// Release does what the README's examples do: they unlock, and close whatever came of it.
func (l *lock) Release(ctx context.Context, key string) error {
	held := l.held[key]
	delete(l.held, key)
	if held == nil {
		return protocol.NotHeld
	}
	return protocol.Within(ctx, time.Second, func() error { return errors.Join(held.Unlock(ctx), held.Close()) })
}

func (l *lock) Close(context.Context) error { return l.db.Close() }

func main() { protocol.Main(open) }
