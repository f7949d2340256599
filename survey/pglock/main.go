// The lock of cirello.io/pglock on one PostgreSQL server, as an adapter for lockchaos.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"cirello.io/pglock"
	_ "github.com/lib/pq"

	"example.com/golocks/protocol"
)

type lock struct {
	db     *sql.DB
	client *pglock.Client
	ttl    time.Duration

	mu   sync.Mutex
	held map[string]*pglock.Lock
}

// open keeps the proportions of the library's defaults: a lease of 20 s, a heartbeat every 5 s.
func open(h protocol.Hello) (protocol.Lock, error) {
	db, err := sql.Open("postgres", "postgres://lockchaos@"+h.Nodes[0]+"/postgres?sslmode=disable")
	if err != nil {
		return nil, err
	}
	c, err := pglock.New(db, pglock.WithLeaseDuration(h.TTL), pglock.WithHeartbeatFrequency(h.TTL/4),
		pglock.WithOwner(h.Client))
	if err != nil {
		return nil, err
	}
	// "If the table already exists, it will be a no-op." But it fails where
	// another client makes it at the same time.
	for try := 0; try < 20; try++ {
		if err = c.TryCreateTable(); err == nil {
			break
		}
		fmt.Fprintln(os.Stderr, err)
		time.Sleep(200 * time.Millisecond)
	}
	if err != nil {
		return nil, err
	}
	return &lock{db: db, client: c, ttl: h.TTL, held: map[string]*pglock.Lock{}}, nil
}

func (l *lock) Declare() protocol.Declaration {
	return protocol.Declaration{
		Name:     "pglock " + protocol.Version("cirello.io/pglock"),
		Validity: "session", // a heartbeat in the background
		// it compares the record version number in the statement that deletes the row
		Confirms: []string{"release"},
		Can:      []string{"cancel"},
		// A heartbeat every quarter of a lease, which may take a lease, and our look every 20 ms.
		LostGraceMS: (l.ttl/4 + l.ttl + 300*time.Millisecond).Milliseconds(),
		Notices:     "alone",
	}
}

// Acquire gives the library a context without a deadline: the heartbeat lives only as long as it.
func (l *lock) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	wait, giveUp := context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, giveUp)
	first := protocol.Now()
	var held *pglock.Lock
	err := protocol.Within(ctx, time.Second, func() (err error) {
		held, err = l.client.AcquireContext(wait, key)
		return err
	})
	if err != nil {
		giveUp()
		// only after an attempt that read another's version number
		if errors.Is(err, pglock.ErrNotAcquired) {
			return protocol.Grant{}, protocol.Busy
		}
		return protocol.Grant{First: first}, err
	}
	if !stop() {
		return protocol.Grant{First: first}, errors.Join(errors.New("granted at the end of the wait"), held.Close())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[key] = held
	go l.watch(key, held)
	return protocol.Grant{First: first}, nil
}

// watch asks the library whether it has lost the lock. Only Client.Do would
// tell it through a context.
func (l *lock) watch(key string, held *pglock.Lock) {
	for !held.IsReleased() {
		time.Sleep(20 * time.Millisecond)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[key] == held {
		delete(l.held, key)
		protocol.Lost(key, "the heartbeat failed")
	}
}

func (l *lock) Release(ctx context.Context, key string) error {
	l.mu.Lock()
	held := l.held[key]
	delete(l.held, key)
	l.mu.Unlock()
	if held == nil {
		return protocol.NotHeld
	}
	err := protocol.Within(ctx, time.Second, func() error { return l.client.ReleaseContext(ctx, held) })
	if errors.Is(err, pglock.ErrLockAlreadyReleased) {
		return protocol.NotHeld
	}
	return err
}

func (l *lock) Close(context.Context) error { return l.db.Close() }

func main() { protocol.Main(open) }
