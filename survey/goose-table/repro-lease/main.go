// Two lockers, one PostgreSQL server: ../../with-postgres.sh go run ./repro-lease
//
// Both ask for a lease of 900 ms, with a heartbeat every 100 ms.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"time"

	_ "github.com/lib/pq"
	"github.com/pressly/goose/v3/lock"
)

func main() {
	ctx := context.Background()
	db, err := sql.Open("postgres", "postgres://postgres@"+os.Args[1]+"/postgres?sslmode=disable")
	check(err)
	check(locker().Lock(ctx, db))
	time.Sleep(10 * time.Millisecond)
	if locker().Lock(ctx, db) == nil {
		fmt.Println("Two lockers hold the lock: a lease of 900 ms is one of 0 s.")
		os.Exit(1)
	}
}

func locker() lock.Locker {
	l, err := lock.NewPostgresTableLocker(lock.WithTableLeaseDuration(900*time.Millisecond),
		lock.WithTableHeartbeatInterval(100*time.Millisecond), lock.WithTableLockTimeout(10*time.Millisecond, 5))
	check(err)
	return l
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
