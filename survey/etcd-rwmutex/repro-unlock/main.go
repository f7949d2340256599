// One writer, one etcd server behind a proxy: ../with-etcd.sh go run ./repro-unlock
//
// Unlock's request gets lost, and its connection breaks. The application calls Unlock again.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"
)

func main() {
	proxy := listen(os.Args[1])
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{proxy.Addr().String()}})
	check(err)
	session, err := concurrency.NewSession(client, concurrency.WithTTL(300))
	check(err)
	lock := recipe.NewRWMutex(session, "job")
	check(lock.Lock())

	proxy.silent.Lock()
	unlocked := make(chan error)
	go func() { unlocked <- lock.Unlock() }()
	time.Sleep(500 * time.Millisecond)
	proxy.reset()
	proxy.silent.Unlock()
	first := <-unlocked
	second := lock.Unlock()
	found, err := client.Get(context.Background(), "job/", clientv3.WithPrefix())
	check(err)
	if first != nil && second == nil && len(found.Kvs) > 0 {
		fmt.Printf("Unlock failed (%v). The second Unlock returned nil, and the lock is still taken.\n", first)
		os.Exit(1)
	}
	fmt.Println("not shown:", first, second, len(found.Kvs))
}

// proxy passes nothing on while it is silent.
type proxy struct {
	net.Listener
	silent sync.RWMutex
	mu     sync.Mutex
	conns  []net.Conn
}

func listen(server string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	p := &proxy{Listener: l}
	go func() {
		for {
			c, err := l.Accept()
			check(err)
			s, err := net.Dial("tcp", server)
			check(err)
			p.mu.Lock()
			p.conns = append(p.conns, c, s)
			p.mu.Unlock()
			go p.pass(s, c)
			go p.pass(c, s)
		}
	}()
	return p
}

func (p *proxy) pass(to io.Writer, from io.Reader) {
	for buf := make([]byte, 64<<10); ; {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		p.silent.RLock()
		_, err = to.Write(buf[:n])
		p.silent.RUnlock()
		if err != nil {
			return
		}
	}
}

// reset closes every connection there is.
func (p *proxy) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
