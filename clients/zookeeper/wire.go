package zookeeper

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// wire makes the connections of one session, and can cut them all. The library by itself waits for nearly seven timeouts for a member that accepts
// and does not answer, and tells nobody which timeout it was granted.
type wire struct {
	patience time.Duration // for the answer to the first message
	granted  atomic.Int64  // timeout of the session, ns

	mu    sync.Mutex
	over  bool
	links map[*link]bool
}

var errCut = errors.New("the session was given up")

func (w *wire) dial(network, addr string, limit time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, addr, limit)
	if err != nil {
		return nil, err
	}
	l := &link{Conn: conn, wire: w}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		conn.Close()
		return nil, errCut
	}
	w.links[l] = true
	return l, nil
}

// cut closes every connection and refuses new ones.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	for l := range w.links {
		l.Conn.Close()
	}
}

// link is one connection. The library reads from it, and sets its deadlines, in one goroutine at a time.
type link struct {
	net.Conn
	wire *wire
	head []byte // the beginning of what was read, until the answer to the connect request is known
}

// headLength is the part of that answer that is looked at: its length, the protocol's version and the timeout in ms, of four bytes each.
const headLength = 12

func (l *link) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if len(l.head) < headLength {
		if l.head = append(l.head, p[:n]...); len(l.head) >= headLength {
			if ms := int32(binary.BigEndian.Uint32(l.head[8:])); ms > 0 { // 0: the session has expired
				l.wire.granted.Store(int64(time.Duration(ms) * time.Millisecond))
			}
		}
	}
	return n, err
}

func (l *link) SetReadDeadline(t time.Time) error {
	if first := time.Now().Add(l.wire.patience); len(l.head) < headLength && t.After(first) {
		t = first
	}
	return l.Conn.SetReadDeadline(t)
}

func (l *link) Close() error {
	l.wire.mu.Lock()
	delete(l.wire.links, l)
	l.wire.mu.Unlock()
	return l.Conn.Close()
}
