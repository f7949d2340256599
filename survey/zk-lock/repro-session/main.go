// One ZooKeeper server: ../with-zookeeper.sh go run ./repro-session
//
// The first client has three ways to the server. Its connection breaks just after its znode is in the queue. The next
// answers late, when the session has expired and a second client has the lock. Whether Lock looks at the queue before
// or after the connection is gone is a race: up to twenty tries.
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

const session = time.Second

func main() {
	log.SetOutput(io.Discard)
	for try := range 20 {
		p := &proxy{server: os.Args[1]}
		job := fmt.Sprintf("/job-%d", try)
		first := zk.NewLock(connect(p.listen(), p.listen(), p.listen()), job, zk.WorldACL(zk.PermAll))
		other := connect(os.Args[1])
		second := zk.NewLock(other, job, zk.WorldACL(zk.PermAll))
		check(first.Lock())
		check(first.Unlock())

		p.breaks.Store(true)
		locked := make(chan error, 1)
		go func() { locked <- first.Lock() }()
		for !p.slow.Load() {
			time.Sleep(time.Millisecond)
		}
		check(second.Lock()) // when the first one's session has expired, and its znode is gone
		p.slow.Store(false)
		select {
		case err := <-locked:
			if err == nil {
				queue, _, err := other.Children(job)
				check(err)
				fmt.Printf("Two clients hold the lock (try %d): Lock returned nil to the first beside the second, "+
					"though its znode is gone. The queue: %v\n", try+1, queue)
				os.Exit(1)
			}
		case <-time.After(5 * session):
		}
		check(second.Unlock())
		other.Close()
	}
}

func connect(servers ...string) *zk.Conn {
	conn, _, err := zk.Connect(servers, session, zk.WithLogInfo(false))
	check(err)
	return conn
}

// proxy breaks a connection when it has passed on the answer to a create, and is slow then until told otherwise.
type proxy struct {
	server       string
	breaks, slow atomic.Bool
	created      atomic.Int32 // the xid of the last create
}

func (p *proxy) listen() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	go func() {
		for {
			c, err := l.Accept()
			check(err)
			s, err := net.Dial("tcp", p.server)
			check(err)
			go p.pass(s, c, p.ask)
			go p.pass(c, s, p.answer)
		}
	}()
	return l.Addr().String()
}

// pass hands frames on until see says that it was the last.
func (p *proxy) pass(to, from net.Conn, see func(frame []byte) bool) {
	defer to.Close()
	defer from.Close()
	for {
		frame := make([]byte, 4)
		if _, err := io.ReadFull(from, frame); err != nil {
			return
		}
		frame = append(frame, make([]byte, binary.BigEndian.Uint32(frame))...)
		if _, err := io.ReadFull(from, frame[4:]); err != nil {
			return
		}
		last := see(frame)
		if _, err := to.Write(frame); err != nil || last {
			return
		}
	}
}

func (p *proxy) ask(frame []byte) bool {
	for p.slow.Load() {
		time.Sleep(time.Millisecond)
	}
	if binary.BigEndian.Uint32(frame[8:]) == 1 { // create
		p.created.Store(int32(binary.BigEndian.Uint32(frame[4:])))
	}
	return false
}

func (p *proxy) answer(frame []byte) bool {
	if int32(binary.BigEndian.Uint32(frame[4:])) != p.created.Load() || !p.breaks.CompareAndSwap(true, false) {
		return false
	}
	p.slow.Store(true)
	return true
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
