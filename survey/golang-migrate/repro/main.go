// One PostgreSQL server, three migrating programs in one: ../../with-postgres.sh go run ./repro
//
// The second waits for the first one's lock, and gives up after its
// LockTimeout. Then the first one is done.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	_ "github.com/golang-migrate/migrate/v4/database/postgres"
	_ "github.com/golang-migrate/migrate/v4/source/file"
)

func main() {
	url := "postgres://postgres@" + os.Args[1] + "/postgres?sslmode=disable"
	dir, err := os.MkdirTemp("", "")
	check(err)
	check(os.WriteFile(dir+"/1_one.up.sql", []byte("SELECT 1"), 0o600))
	second, err := migrate.New("file://"+dir, url)
	check(err)
	second.LockTimeout = time.Second
	third, err := migrate.New("file://"+dir, url)
	check(err)
	third.LockTimeout = 5 * time.Second
	first, err := database.Open(url)
	check(err)
	check(first.Lock())

	fmt.Println("second, while the first works:", second.Up())
	check(first.Unlock())
	check(first.Close())
	time.Sleep(time.Second)

	thirdErr := third.Up()
	secondErr := second.Up()
	if thirdErr != nil || secondErr != nil {
		fmt.Printf("Nobody migrates, and nobody can: the third program is told %q, and the second, again, %q.\n",
			thirdErr, secondErr)
		os.Exit(1)
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
