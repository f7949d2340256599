package zookeeper

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockchaos/lockchaos/clients"
)

// wire makes the connections of one session, and can cut them all. The library by
// itself waits for nearly seven timeouts for a member that accepts and does not
// answer, and tells nobody which timeout it was granted, nor the session's password.
type wire struct {
	patience time.Duration // for the answer to the first message
	granted  atomic.Int64  // timeout of the session, ns
	dials    zk.Dialer
	opened   func(clients.Session)

	mu    sync.Mutex
	over  bool
	links map[*link]bool
}

var errCut = errors.New("the session was given up")

func (w *wire) dial(network, addr string, limit time.Duration) (net.Conn, error) {
	conn, err := w.dials(network, addr, limit)
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

// link is one connection. The library reads from it, and sets its deadlines, in
// one goroutine at a time.
type link struct {
	net.Conn
	wire *wire
	head []byte // the beginning of what was read, until the answer to the connect request is known
}

// headLength is the length of that answer: its own length, the protocol's version and the timeout
// in ms, of four bytes each; the session's number of eight, the length of its password and that,
// of sixteen (zookeeper.jute, ConnectResponse). What a server may add is of no interest.
const (
	headLength     = headPassword + 16
	headTimeout    = 8
	headSession    = 12
	headPassword   = 24
	passwordLength = 20
)

func (l *link) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if len(l.head) < headLength {
		if l.head = append(l.head, p[:n]...); len(l.head) >= headLength {
			l.wire.connected(l.head)
		}
	}
	return n, err
}

// connected takes note of what the service granted.
func (w *wire) connected(head []byte) {
	ms := int32(binary.BigEndian.Uint32(head[headTimeout:]))
	if ms <= 0 { // the session has expired
		return
	}
	w.granted.Store(int64(time.Duration(ms) * time.Millisecond))
	if length := binary.BigEndian.Uint32(head[passwordLength:]); length == headLength-headPassword {
		w.opened(clients.Session{ID: int64(binary.BigEndian.Uint64(head[headSession:])),
			Password: bytes.Clone(head[headPassword:headLength])})
	}
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
