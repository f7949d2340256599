// Two lockers, one PostgreSQL server: ../../with-postgres.sh go run ./repro-retries
//
// The second locker asks twice for what the first one holds. Each time it
// should try again for half a second.
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
	second := locker()
	var took [2]time.Duration
	for i := range took {
		began := time.Now()
		if second.Lock(ctx, db) == nil {
			panic("two lockers hold the lock")
		}
		took[i] = time.Since(began).Round(time.Millisecond)
	}
	if took[1] < took[0]/2 {
		fmt.Printf("The first Lock tried for %v, and the second one gave up after %v.\n", took[0], took[1])
		os.Exit(1)
	}
}

func locker() lock.Locker {
	l, err := lock.NewPostgresTableLocker(lock.WithTableLockTimeout(50*time.Millisecond, 10))
	check(err)
	return l
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
