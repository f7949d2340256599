package store_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// slowWay is a way to a server on which what one connection sends can be held up, while those made
// later pass.
type slowWay struct {
	listener net.Listener
	server   string

	mu    sync.Mutex
	conns []*slowConn
}

// slowConn is one connection.
type slowConn struct {
	client net.Conn
	server *net.TCPConn
	over   chan struct{} // closed when the server has ended it

	mu    sync.Mutex
	held  bool
	bytes []byte // what was held up
}

func newSlowWay(t *testing.T, server string) *slowWay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &slowWay{listener: l, server: server}
	t.Cleanup(func() {
		l.Close()
		for _, c := range w.all() {
			c.client.Close()
			c.server.Close()
		}
	})
	go w.accept()
	return w
}

func (w *slowWay) addr() string { return w.listener.Addr().String() }

func (w *slowWay) all() []*slowConn {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]*slowConn(nil), w.conns...)
}

func (w *slowWay) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", w.server)
		if err != nil {
			client.Close()
			continue
		}
		c := &slowConn{client: client, server: server.(*net.TCPConn), over: make(chan struct{})}
		w.mu.Lock()
		w.conns = append(w.conns, c)
		w.mu.Unlock()
		go c.answer()
		go c.forward()
	}
}

// answer passes on what the server says, for as long as it says something: to nobody, once the
// client has gone.
func (c *slowConn) answer() {
	defer close(c.over)
	defer c.client.Close()
	_, _ = io.Copy(c.client, c.server)
	_, _ = io.Copy(io.Discard, c.server)
}

// forward passes on what the client sends, or keeps it. The server does not hear that a client has
// gone whose bytes are held up.
func (c *slowConn) forward() {
	buffer := make([]byte, 1<<16)
	for {
		n, err := c.client.Read(buffer)
		c.mu.Lock()
		if c.held {
			c.bytes = append(c.bytes, buffer[:n]...)
		} else if n > 0 {
			_, _ = c.server.Write(buffer[:n])
		}
		held := c.held
		c.mu.Unlock()
		if err != nil {
			if !held {
				c.server.Close()
			}
			return
		}
	}
}

// hold holds up what is sent from now on, on the connections that there are.
func (w *slowWay) hold() {
	for _, c := range w.all() {
		c.mu.Lock()
		c.held = true
		c.mu.Unlock()
	}
}

// release lets what was held up arrive, and returns when the server has done with it: it finds the
// end of the connection behind it, and ends it too.
func (w *slowWay) release(t *testing.T) {
	t.Helper()
	arrived := false
	for _, c := range w.all() {
		c.mu.Lock()
		late := c.bytes
		c.mu.Unlock()
		if len(late) == 0 {
			continue
		}
		arrived = true
		if _, err := c.server.Write(late); err != nil {
			t.Fatal(err)
		}
		if err := c.server.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-c.over:
		case <-limit(t).Done():
			t.Fatal("the server does not end the connection")
		}
	}
	if !arrived {
		t.Fatal("nothing was held up: the write was sent on a connection that came later")
	}
}
