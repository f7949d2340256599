// Three candidates, one etcd server: ../../with-etcd.sh go run ./repro
//
// The second candidate's session ends while it waits. It is elected all the same, beside the third.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{os.Args[1]}})
	check(err)
	var sessions [3]*concurrency.Session
	var candidates [3]*concurrency.Election
	for i := range candidates {
		sessions[i], err = concurrency.NewSession(client, concurrency.WithTTL(10))
		check(err)
		candidates[i] = concurrency.NewElection(sessions[i], "leader")
	}
	check(candidates[0].Campaign(ctx, "first"))
	elected := make(chan error, 2)
	for i, name := range []string{"second", "third"} {
		go func() { elected <- candidates[i+1].Campaign(ctx, name) }()
		// until it stands in the queue
		for keys := 0; keys < i+2; time.Sleep(10 * time.Millisecond) {
			found, err := client.Get(ctx, "leader/", clientv3.WithPrefix())
			check(err)
			keys = len(found.Kvs)
		}
	}
	check(sessions[1].Close()) // as when its lease expires
	<-sessions[1].Done()
	time.Sleep(time.Second)
	check(candidates[0].Resign(ctx))
	one, other := <-elected, <-elected
	leader, err := candidates[0].Leader(ctx)
	check(err)
	if one == nil && other == nil {
		fmt.Printf("Campaign has returned nil to two candidates. etcd says that the leader is the %s one; the "+
			"session of the second was over a second before it was elected.\n", leader.Kvs[0].Value)
		os.Exit(1)
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
