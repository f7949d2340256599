// Two sessions, one PostgreSQL server: ../../with-postgres.sh go run ./repro-timeout
//
// The second waits for the lock with a time limit of 50 ms. The first gives it
// back at about that time.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"time"

	"github.com/allisson/go-pglock/v3"
	_ "github.com/lib/pq"
)

const limit = 50 * time.Millisecond

func main() {
	db, err := sql.Open("postgres", "postgres://postgres@"+os.Args[1]+"/postgres?sslmode=disable")
	check(err)
	ctx := context.Background()
	first, err := pglock.NewLock(ctx, 1, db)
	check(err)
	for try := range 1000 {
		check(first.WaitAndLock(ctx))
		second, err := pglock.NewLock(ctx, 1, db)
		check(err)
		unlocked := make(chan error, 1)
		go func() {
			time.Sleep(limit + time.Duration(try%20)*100*time.Microsecond)
			unlocked <- first.Unlock(ctx)
		}()
		limited, cancel := context.WithTimeout(ctx, limit)
		granted := second.WaitAndLock(limited) == nil
		cancel()
		check(<-unlocked)
		if granted && holders(db) == 0 {
			fmt.Printf("WaitAndLock returned no error in try %d, and no session holds the lock.\n", try+1)
			os.Exit(1)
		}
		_ = second.Unlock(ctx)
		_ = second.Close()
	}
}

// holders counts the sessions that hold the lock, when the server has had time to end a session.
func holders(db *sql.DB) (n int) {
	time.Sleep(200 * time.Millisecond)
	check(db.QueryRow("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted").Scan(&n))
	return n
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
