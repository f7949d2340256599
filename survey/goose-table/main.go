// The table locker of github.com/pressly/goose/v3/lock on one PostgreSQL
// server, as an adapter for lockchaos.
package main

import (
	"context"
	"database/sql"
	"errors"
	"hash/crc32"
	"time"

	_ "github.com/lib/pq"
	goose "github.com/pressly/goose/v3/lock"

	"example.com/golocks/protocol"
)

type lock struct {
	db      *sql.DB
	ttl     time.Duration
	lockers map[string]goose.Locker
	held    map[string]context.CancelFunc // ends the heartbeat's context
}

func open(h protocol.Hello) (protocol.Lock, error) {
	db, err := sql.Open("postgres", "postgres://lockchaos@"+h.Nodes[0]+"/postgres?sslmode=disable")
	return &lock{db: db, ttl: h.TTL, lockers: map[string]goose.Locker{}, held: map[string]context.CancelFunc{}}, err
}

func (l *lock) Declare() protocol.Declaration {
	return protocol.Declaration{
		Name:     "goose table locker " + protocol.Version("github.com/pressly/goose/v3"),
		Validity: "session",           // "Lock stays alive automatically until released"
		Confirms: []string{"release"}, // only "if it's held by the current instance"
		Can:      []string{"cancel"},
		// The locker does not tell of a heartbeat that failed, nor of a lease that is lost.
	}
}

// locker has the proportions of the library's defaults (a lease of 30 s, a heartbeat every
// 5 s). Its retries are quicker, since the time limits here are shorter than its minutes.
func (l *lock) locker(key string) (goose.Locker, error) {
	if found := l.lockers[key]; found != nil {
		return found, nil
	}
	made, err := goose.NewPostgresTableLocker(
		goose.WithTableLockID(int64(crc32.ChecksumIEEE([]byte(key)))),
		goose.WithTableLeaseDuration(l.ttl),
		goose.WithTableHeartbeatInterval(l.ttl/6),
		goose.WithTableLockTimeout(50*time.Millisecond, 1<<20),
		goose.WithTableUnlockTimeout(100*time.Millisecond, 10),
	)
	l.lockers[key] = made
	return made, err
}

// Acquire gives Lock a context without a deadline: the heartbeat lives only as long as it.
func (l *lock) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	locker, err := l.locker(key)
	if err != nil {
		return protocol.Grant{}, err
	}
	alive, stop := context.WithCancel(context.Background())
	keep := context.AfterFunc(ctx, stop)
	first := protocol.Now()
	err = protocol.Within(ctx, time.Second, func() error { return locker.Lock(alive, l.db) })
	switch {
	case errors.Is(err, protocol.Left):
		delete(l.lockers, key) // it holds a mutex of its own until it returns
		return protocol.Grant{First: first}, err
	case err != nil:
		stop()
		return protocol.Grant{First: first}, err
	case !keep():
		late := errors.New("granted at the end of the wait")
		return protocol.Grant{First: first}, errors.Join(late, locker.Unlock(ctx, l.db))
	}
	l.held[key] = stop
	return protocol.Grant{First: first}, nil
}

func (l *lock) Release(ctx context.Context, key string) error {
	stop := l.held[key]
	if stop == nil {
		return protocol.NotHeld
	}
	delete(l.held, key)
	err := protocol.Within(ctx, time.Second, func() error { return l.lockers[key].Unlock(ctx, l.db) })
	stop()
	if errors.Is(err, protocol.Left) {
		delete(l.lockers, key)
	}
	return err
}

func (l *lock) Close(context.Context) error { return l.db.Close() }

func main() { protocol.Main(open) }
