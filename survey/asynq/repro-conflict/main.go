// One Redis server: ../with-redis.sh go run ./repro-conflict
//
// A task is refused because of its ID. It is not in the queue, and yet no other
// task like it can be enqueued.
package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hibiken/asynq"
)

func main() {
	client := asynq.NewClient(asynq.RedisClientOpt{Addr: os.Args[1]})
	_, err := client.Enqueue(asynq.NewTask("other", nil), asynq.TaskID("1"))
	check(err)
	task := asynq.NewTask("report", []byte("november"))
	_, refused := client.Enqueue(task, asynq.Unique(time.Hour), asynq.TaskID("1"))
	_, again := client.Enqueue(task, asynq.Unique(time.Hour), asynq.TaskID("2"))
	if errors.Is(refused, asynq.ErrTaskIDConflict) && errors.Is(again, asynq.ErrDuplicateTask) {
		fmt.Printf("No report is in the queue, and for an hour none can be enqueued: the first was refused (%v), "+
			"and so is the second (%v).\n", refused, again)
		os.Exit(1)
	}
	fmt.Println("not shown:", refused, again)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
