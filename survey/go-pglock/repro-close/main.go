// Two pools, one PostgreSQL server: ../../with-postgres.sh go run ./repro-close
//
// A lock is closed, which the documentation says releases it. Then another program asks for it.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"

	"github.com/allisson/go-pglock/v3"
	_ "github.com/lib/pq"
)

func main() {
	ctx := context.Background()
	first, second := lock(ctx), lock(ctx)
	ok, err := first.Lock(ctx)
	check(err)
	if !ok {
		panic("the lock of a new server is taken")
	}
	check(first.Close())
	ok, err = second.Lock(ctx)
	check(err)
	if !ok {
		fmt.Println("The lock is still held after Close.")
		os.Exit(1)
	}
}

func lock(ctx context.Context) pglock.Lock {
	db, err := sql.Open("postgres", "postgres://postgres@"+os.Args[1]+"/postgres?sslmode=disable")
	check(err)
	l, err := pglock.NewLock(ctx, 1, db)
	check(err)
	return l
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
