// One owner, one Redis server: ../../with-redis.sh go run ./repro
//
// The reply to the owner's SET is lost together with its connection, once.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"

	"github.com/dapr/components-contrib/lock"
	"github.com/dapr/components-contrib/lock/redis"
	"github.com/dapr/components-contrib/metadata"
	"github.com/dapr/kit/logger"
)

func main() {
	ctx := context.Background()
	log := logger.NewLogger("lock")
	log.SetOutput(io.Discard)
	store := redis.NewStandaloneRedisLock(log)
	check(store.InitLockStore(ctx, lock.Metadata{Base: metadata.Base{
		Properties: map[string]string{"redisHost": proxy(os.Args[1]), "redisPassword": ""},
	}}))
	first, err := store.TryLock(ctx, &lock.TryLockRequest{ResourceID: "k", LockOwner: "me", ExpiryInSeconds: 30})
	check(err)
	unlocked, err := store.Unlock(ctx, &lock.UnlockRequest{ResourceID: "k", LockOwner: "me"})
	check(err)
	if !first.Success && unlocked.Status == lock.Success {
		fmt.Println("TryLock said that another owner has the lock, and Unlock then released it for this owner.")
		os.Exit(1)
	}
}

// proxy forwards to the server. It loses the first reply to a SET, and the connection with it.
func proxy(server string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	var asked, lost atomic.Bool
	go func() {
		for {
			in, err := l.Accept()
			check(err)
			out, err := net.Dial("tcp", server)
			check(err)
			forward := func(to, from net.Conn, request bool) {
				defer to.Close()
				for p := make([]byte, 1<<16); ; {
					n, err := from.Read(p)
					if err != nil || !request && asked.Load() && lost.CompareAndSwap(false, true) {
						return
					}
					if request && bytes.Contains(p[:n], []byte("\r\nset\r\n")) {
						asked.Store(true)
					}
					to.Write(p[:n])
				}
			}
			go forward(out, in, true)
			go forward(in, out, false)
		}
	}()
	return l.Addr().String()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
