// Two electors, one etcd server, the first behind a proxy: ../with-etcd.sh go run ./repro-cut-off
//
// The proxy falls silent. The first elector's lease ends, and the second is elected.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	elector "github.com/go-co-op/gocron-etcd-elector"
)

const ttl = 2 // s

func main() {
	ctx := context.Background()
	proxy := listen(os.Args[1])
	first, second := start(proxy.Addr().String()), (*elector.Elector)(nil)
	for first.IsLeader(ctx) != nil {
		time.Sleep(10 * time.Millisecond)
	}
	second = start(os.Args[1])
	silent.Lock() // nothing passes any more, and no connection is closed
	for second.IsLeader(ctx) != nil {
		time.Sleep(10 * time.Millisecond)
	}
	both, since := 0, time.Now()
	for time.Since(since) < 20*time.Second {
		time.Sleep(time.Second)
		if first.IsLeader(ctx) == nil && second.IsLeader(ctx) == nil {
			both++
		}
	}
	if both > 3*ttl {
		fmt.Printf("Both lead: in 20 s after the second was elected, IsLeader said yes to both %d times of 20. "+
			"The lease is %d s.\n", both, ttl)
		os.Exit(1)
	}
	fmt.Println("not shown:", both)
}

func start(endpoint string) *elector.Elector {
	config := elector.Config{Endpoints: []string{endpoint}, DialTimeout: 3 * time.Second}
	e, err := elector.NewElector(context.Background(), config, elector.WithTTL(ttl))
	check(err)
	go func() { fmt.Fprintln(os.Stderr, "Start has returned:", e.Start("/leader")) }()
	return e
}

// silent is held while the proxy passes nothing on.
var silent sync.RWMutex

func listen(server string) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	go func() {
		for {
			c, err := l.Accept()
			check(err)
			s, err := net.Dial("tcp", server)
			check(err)
			go pass(s, c)
			go pass(c, s)
		}
	}()
	return l
}

func pass(to io.Writer, from io.Reader) {
	for buf := make([]byte, 64<<10); ; {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		silent.RLock()
		_, err = to.Write(buf[:n])
		silent.RUnlock()
		if err != nil {
			return
		}
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
