// One Redis server: ../with-redis.sh go run ./repro-ttl
//
// A task is enqueued as unique for 1.9 s. After 1.4 s the same task is enqueued again.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/hibiken/asynq"
)

func main() {
	client := asynq.NewClient(asynq.RedisClientOpt{Addr: os.Args[1]})
	task := asynq.NewTask("report", []byte("november"))
	began := time.Now()
	_, err := client.Enqueue(task, asynq.Unique(1900*time.Millisecond))
	check(err)
	time.Sleep(1400 * time.Millisecond)
	_, err = client.Enqueue(task, asynq.Unique(1900*time.Millisecond))
	if took := time.Since(began); err == nil && took < 1900*time.Millisecond {
		fmt.Printf("A task that is unique for 1.9 s was enqueued twice within %v.\n", took.Round(time.Millisecond))
		os.Exit(1)
	}
	fmt.Println("not shown:", err)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
