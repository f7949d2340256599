// The lock under which github.com/golang-migrate/migrate/v4 runs migrations, on
// one PostgreSQL server, as an adapter for lockchaos. The application's
// critical section is a migration: it lasts until it is released.
package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	_ "github.com/golang-migrate/migrate/v4/database/postgres"
	"github.com/golang-migrate/migrate/v4/source"

	"example.com/golocks/protocol"
)

type lock struct {
	url   string
	users map[string]*user
}

// user migrates one key's schema, as a service does that migrates at its start
// and tries again if it can't.
type user struct {
	opened  chan struct{} // closed when the driver is open, or err is set
	err     error
	migrate *migrate.Migrate
	driver  *driver
	ended   chan error // of Steps
}

func open(h protocol.Hello) (protocol.Lock, error) {
	return &lock{url: "postgres://lockchaos@" + h.Nodes[0] + "/postgres?sslmode=disable", users: map[string]*user{}},
		nil
}

func (l *lock) Declare() protocol.Declaration {
	return protocol.Declaration{
		Name:     "golang-migrate " + protocol.Version("github.com/golang-migrate/migrate/v4"),
		Validity: "session", // a session's advisory lock
	}
}

// open makes the user of a key, whose name is that of its table of versions. It
// waits for the lock, without a limit: the driver takes it to make the table.
func (u *user) open(url, key string) {
	defer close(u.opened)
	postgres, err := database.Open(url + "&x-migrations-table=" + key)
	if err != nil {
		u.err = err
		return
	}
	u.driver = &driver{Driver: postgres, begun: make(chan struct{}), end: make(chan struct{})}
	u.migrate, u.err = migrate.NewWithInstance("endless", endless{}, "postgres", u.driver)
}

// Acquire waits until the migration begins. The wait's limit is the library's own LockTimeout.
func (l *lock) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	first := protocol.Now()
	u := l.users[key]
	if u == nil {
		u = &user{opened: make(chan struct{})}
		l.users[key] = u
		go u.open(l.url, key)
	}
	select {
	case <-u.opened:
	case <-ctx.Done():
		return protocol.Grant{First: first}, ctx.Err()
	}
	if u.err != nil {
		delete(l.users, key)
		return protocol.Grant{First: first}, u.err
	}
	deadline, _ := ctx.Deadline()
	for {
		u.migrate.LockTimeout = time.Until(deadline)
		u.ended = make(chan error, 1)
		go func(ended chan error) { ended <- u.migrate.Steps(1) }(u.ended)
		select {
		case <-u.driver.begun:
			return protocol.Grant{First: first}, nil
		case err := <-u.ended:
			if !errors.Is(err, database.ErrLocked) || ctx.Err() != nil {
				return protocol.Grant{First: first}, err
			}
			time.Sleep(50 * time.Millisecond) // "can't acquire lock": try again
		}
	}
}

// Release ends the migration, and with it Steps, which unlocks.
func (l *lock) Release(ctx context.Context, key string) error {
	u := l.users[key]
	if u == nil || u.ended == nil {
		return protocol.NotHeld
	}
	select {
	case u.driver.end <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-u.ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *lock) Close(context.Context) error { return nil } // the process ends

// driver is the library's own, whose lock is examined. Only the migration is
// ours, and its version is nowhere.
type driver struct {
	database.Driver
	begun, end chan struct{}
}

func (d *driver) Run(io.Reader) error {
	d.begun <- struct{}{}
	<-d.end
	return nil
}

func (d *driver) Version() (int, bool, error) { return 1, false, nil }
func (d *driver) SetVersion(int, bool) error  { return nil }

// endless is a source that always has one more migration.
type endless struct{}

func (endless) Open(string) (source.Driver, error) { return endless{}, nil }
func (endless) Close() error                       { return nil }
func (endless) First() (uint, error)               { return 1, nil }
func (endless) Prev(v uint) (uint, error)          { return v - 1, nil }
func (endless) Next(v uint) (uint, error)          { return v + 1, nil }

func (endless) ReadUp(uint) (io.ReadCloser, string, error) {
	return io.NopCloser(strings.NewReader("SELECT 1")), "work", nil
}

func (endless) ReadDown(uint) (io.ReadCloser, string, error) {
	return io.NopCloser(strings.NewReader("SELECT 1")), "work", nil
}

func main() { protocol.Main(open) }
