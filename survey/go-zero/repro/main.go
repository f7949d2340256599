// Two owners, one Redis server: ../../with-redis.sh go run ./repro
//
// The first owner's reply comes 2 s late. Its lease of 1.5 s is over by then,
// and the second owner has the lock.
package main

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stores/redis"
)

var late atomic.Bool

func main() {
	logx.Disable()
	first, second := lock(proxy(os.Args[1])), lock(os.Args[1])
	acquire(first) // the connection is open, and the scripts are known to the server from here on
	_, err := first.Release()
	check(err)

	late.Store(true)
	secondOK := make(chan bool)
	go func() {
		time.Sleep(1700 * time.Millisecond)
		secondOK <- acquire(second)
	}()
	firstOK := acquire(first)
	if firstOK && <-secondOK {
		fmt.Println("Both owners were told, 300 ms apart, that they have the lock for 1.5 s.")
		os.Exit(1)
	}
}

func acquire(l *redis.RedisLock) bool {
	ok, err := l.Acquire()
	check(err)
	return ok
}

func lock(address string) *redis.RedisLock {
	store, err := redis.NewRedis(redis.RedisConf{Host: address, Type: redis.NodeType})
	check(err)
	l := redis.NewRedisLock(store, "k")
	l.SetExpire(1) // to which the library adds 500 ms
	return l
}

// proxy forwards to the server. Replies are 2 s late when late is set.
func proxy(server string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	go func() {
		for {
			in, err := l.Accept()
			check(err)
			out, err := net.Dial("tcp", server)
			check(err)
			go forward(out, in, false)
			go forward(in, out, true)
		}
	}()
	return l.Addr().String()
}

func forward(to, from net.Conn, replies bool) {
	defer to.Close()
	for p := make([]byte, 1<<16); ; {
		n, err := from.Read(p)
		if err != nil {
			return
		}
		if replies && late.Load() {
			time.Sleep(2 * time.Second)
		}
		to.Write(p[:n])
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
