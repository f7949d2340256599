// Two electors, one etcd server: ../with-etcd.sh go run ./repro-stop
//
// The leader is stopped. How long is it until the other leads?
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	elector "github.com/go-co-op/gocron-etcd-elector"
)

const ttl = 10 // s

func main() {
	ctx := context.Background()
	first := start()
	for first.IsLeader(ctx) != nil {
		time.Sleep(10 * time.Millisecond)
	}
	second := start()
	time.Sleep(time.Second)
	if err := first.Stop(); err != nil {
		panic(err)
	}
	stopped := time.Now()
	for second.IsLeader(ctx) != nil {
		time.Sleep(10 * time.Millisecond)
	}
	if took := time.Since(stopped); took > ttl*time.Second/2 {
		fmt.Printf("Nobody led for %v after the leader was stopped: its lease of %d s was not given back.\n",
			took.Round(100*time.Millisecond), ttl)
		os.Exit(1)
	}
}

func start() *elector.Elector {
	config := elector.Config{Endpoints: []string{os.Args[1]}, DialTimeout: 3 * time.Second}
	e, err := elector.NewElector(context.Background(), config, elector.WithTTL(ttl))
	if err != nil {
		panic(err)
	}
	go e.Start("/leader")
	return e
}
