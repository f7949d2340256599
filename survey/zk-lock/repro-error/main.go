// One ZooKeeper server: ../with-zookeeper.sh go run ./repro-error
//
// The connection breaks while Lock looks at the queue, and is there again at
// once. Lock returns an error. The application calls it again.
package main

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

func main() {
	dial := zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
		c, err := net.DialTimeout(network, address, timeout)
		return breaking{c}, err
	})
	conn, _, err := zk.Connect([]string{os.Args[1]}, 4*time.Second, dial, zk.WithLogInfo(false))
	if err != nil {
		panic(err)
	}
	lock := zk.NewLock(conn, "/job", zk.WorldACL(zk.PermAll))
	if err := lock.Lock(); err != nil {
		panic(err)
	}
	if err := lock.Unlock(); err != nil {
		panic(err)
	}

	breaks.Store(true)
	first := lock.Lock()
	second := make(chan error, 1)
	go func() { second <- lock.Lock() }()
	select {
	case err := <-second:
		fmt.Println("not shown:", first, err)
	case <-time.After(20 * time.Second):
		queue, _, err := conn.Children("/job")
		fmt.Printf("Lock failed (%v). It has been called again, and has waited for 20 s for a lock that nobody holds. "+
			"The queue, all of it this connection's: %v %v\n", first, queue, err)
		os.Exit(1)
	}
}

// breaks says that the connection breaks at the next look at a queue.
var breaks atomic.Bool

type breaking struct{ net.Conn }

// Write breaks the connection instead of writing a getChildren2 (12): a length,
// an xid and the operation's number.
func (c breaking) Write(b []byte) (int, error) {
	if len(b) > 12 && binary.BigEndian.Uint32(b[8:]) == 12 && breaks.CompareAndSwap(true, false) {
		c.Conn.Close()
		return len(b), nil
	}
	return c.Conn.Write(b)
}
