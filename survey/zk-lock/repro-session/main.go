// One ZooKeeper server: ../with-zookeeper.sh go run ./repro-session
//
// The first client has three ways to the server. Its connection breaks just
// after its znode is in the queue. The next answers late, when the session has
// expired and a second client has the lock. Whether Lock looks at the queue
// before or after the connection is gone is a race: up to twenty tries.
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

const session = 2 * time.Second

func main() {
	log.SetOutput(io.Discard)
	for try := range 20 {
		job := fmt.Sprintf("/job-%d", try)
		other := connect(os.Args[1])
		if queue, shown := shown(job, other); shown {
			fmt.Printf("Two clients hold the lock (try %d): Lock returned nil to the first beside the second, though its "+
				"znode is gone. The queue: %v\n", try+1, queue)
			os.Exit(1)
		}
		other.Close()
	}
}

// shown reports whether both clients hold the lock, and the queue then. An error
// on the way is one of a busy machine.
func shown(job string, other *zk.Conn) (queue []string, both bool) {
	if _, err := other.Create(job, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		return nil, false
	}
	p := &proxy{server: os.Args[1]}
	p.created.Store(1 << 30) // none yet
	p.breaks.Store(true)
	first := zk.NewLock(connect(p.listen(), p.listen(), p.listen()), job, zk.WorldACL(zk.PermAll))
	second := zk.NewLock(other, job, zk.WorldACL(zk.PermAll))
	locked := make(chan error, 1)
	go func() { locked <- first.Lock() }()
	for !p.slow.Load() {
		select {
		case <-locked:
			return nil, false
		case <-time.After(time.Millisecond):
		}
	}
	if second.Lock() != nil { // when the first one's session has expired, and its znode is gone
		return nil, false
	}
	p.slow.Store(false)
	select {
	case err := <-locked:
		queue, _, read := other.Children(job)
		return queue, err == nil && read == nil && len(queue) == 1
	case <-time.After(5 * session):
		return nil, false
	}
}

func connect(servers ...string) *zk.Conn {
	conn, _, err := zk.Connect(servers, session, zk.WithLogInfo(false))
	check(err)
	return conn
}

// proxy breaks a connection when it has passed on the answer to a create, and
// is slow then until told otherwise.
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
