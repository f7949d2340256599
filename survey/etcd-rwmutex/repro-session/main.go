// A holder, two writers that wait, one etcd server: ../with-etcd.sh go run ./repro-session
//
// The session of the first that waits ends meanwhile. It gets the lock all the
// same, beside the second.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"
)

func main() {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{os.Args[1]}})
	check(err)
	var sessions [3]*concurrency.Session
	var locks [3]*recipe.RWMutex
	for i := range locks {
		sessions[i], err = concurrency.NewSession(client, concurrency.WithTTL(10))
		check(err)
		locks[i] = recipe.NewRWMutex(sessions[i], "job")
	}
	check(locks[0].Lock())
	locked := make(chan error, 2)
	for i := 1; i <= 2; i++ {
		go func() { locked <- locks[i].Lock() }()
		// until it stands in the queue
		for keys := 0; keys < i+1; time.Sleep(10 * time.Millisecond) {
			found, err := client.Get(context.Background(), "job/", clientv3.WithPrefix())
			check(err)
			keys = len(found.Kvs)
		}
	}
	check(sessions[1].Close()) // as when its lease expires
	<-sessions[1].Done()
	time.Sleep(time.Second)
	check(locks[0].Unlock())
	for range 2 {
		select {
		case err := <-locked:
			check(err)
		case <-time.After(5 * time.Second):
			return // one waits on, as it should
		}
	}
	fmt.Println("Two writers hold the lock: the session of one was over a second before Lock returned nil.")
	os.Exit(1)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
