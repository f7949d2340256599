// Two clients, one PostgreSQL server: ../../with-postgres.sh go run ./repro
//
// The first client's packets are dropped while it works under Client.Do. The second client
// takes the lock when the lease is over. The first context should be canceled soon.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"cirello.io/pglock"
	_ "github.com/lib/pq"
)

const lease = 2 * time.Second

func main() {
	link, cut := proxy(os.Args[1])
	check(client(os.Args[1]).TryCreateTable())
	first := make(chan context.Context)
	work := func(ctx context.Context, _ *pglock.Lock) error { first <- ctx; select {} }
	go client(link).Do(context.Background(), "k", work)
	held := <-first
	time.Sleep(lease / 4)
	close(cut)
	_, err := client(os.Args[1]).Acquire("k")
	check(err)
	began := time.Now()
	for held.Err() == nil && time.Since(began) < 10*lease {
		time.Sleep(time.Millisecond)
	}
	if both := time.Since(began); both > lease {
		fmt.Printf("The first client's context is alive %v after another client took the lock (the lease is %v).\n",
			both.Round(time.Millisecond), lease)
		os.Exit(1)
	}
}

func client(address string) *pglock.Client {
	db, err := sql.Open("postgres", "postgres://postgres@"+address+"/postgres?sslmode=disable")
	check(err)
	c, err := pglock.New(db, pglock.WithLeaseDuration(lease), pglock.WithHeartbeatFrequency(lease/4))
	check(err)
	return c
}

// proxy forwards to the server until cut is closed. From then on it swallows every byte.
func proxy(server string) (address string, cut chan struct{}) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	cut = make(chan struct{})
	go func() {
		for {
			in, err := l.Accept()
			check(err)
			out, err := net.Dial("tcp", server)
			check(err)
			go io.Copy(out, &link{in, cut})
			go io.Copy(in, &link{out, cut})
		}
	}()
	return l.Addr().String(), cut
}

type link struct {
	net.Conn
	cut chan struct{}
}

func (l *link) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	select {
	case <-l.cut:
		select {} // dropped, and silent for ever
	default:
		return n, err
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
