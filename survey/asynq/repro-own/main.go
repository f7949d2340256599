// One Redis server behind a proxy: ../with-redis.sh go run ./repro-own
//
// A unique task is enqueued. Redis does so, and its connection breaks before the answer has passed.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
)

func main() {
	redis := asynq.RedisClientOpt{Addr: listen(os.Args[1])}
	client, inspector := asynq.NewClient(redis), asynq.NewInspector(redis)
	_, err := client.Enqueue(asynq.NewTask("warm up", nil), asynq.Unique(time.Hour), asynq.Queue("other"))
	check(err)
	breaks.Store(true)
	_, refused := client.Enqueue(asynq.NewTask("report", nil), asynq.Unique(time.Hour), asynq.TaskID("mine"))
	tasks, err := inspector.ListPendingTasks("default")
	check(err)
	if errors.Is(refused, asynq.ErrDuplicateTask) && len(tasks) == 1 && tasks[0].ID == "mine" {
		fmt.Printf("Enqueue failed (%v). The only task in the queue is the one that was refused.\n", refused)
		os.Exit(1)
	}
	fmt.Println("not shown:", refused, len(tasks))
}

// breaks says that a connection breaks instead of passing the answer to the next script.
var breaks atomic.Bool

func listen(server string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	go func() {
		for {
			c, err := l.Accept()
			check(err)
			s, err := net.Dial("tcp", server)
			check(err)
			var asked atomic.Bool // a script, whose answer is next
			go pass(s, c, func(b []byte) bool {
				asked.Store(bytes.Contains(bytes.ToLower(b), []byte("evalsha")))
				return false
			})
			go pass(c, s, func([]byte) bool { return asked.Load() && breaks.CompareAndSwap(true, false) })
		}
	}()
	return l.Addr().String()
}

// pass hands on until last says so.
func pass(to, from net.Conn, last func([]byte) bool) {
	defer to.Close()
	defer from.Close()
	for buf := make([]byte, 64<<10); ; {
		n, err := from.Read(buf)
		if err != nil || last(buf[:n]) {
			return
		}
		if _, err := io.Copy(to, bytes.NewReader(buf[:n])); err != nil {
			return
		}
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
