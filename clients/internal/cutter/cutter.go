// Package cutter ends calls of libraries that do not obey their context.
package cutter

import (
	"context"
	"net"
	"sync"
	"time"
)

// Cutter ends the call in progress when its context ends. go-redis obeys a
// context's deadline only, not a cancellation, and gomemcache knows no context;
// and a call that is cut must not spoil the connection for the next one.
//
// It knows the connections of one client, and that client has one call in
// progress at a time. The zero value is ready.
type Cutter struct {
	mu    sync.Mutex
	call  int64 // counts calls; a cut for an earlier one comes too late
	busy  bool
	ctx   context.Context // of the call in progress
	conns map[*cuttable]bool
}

// Dial makes a connection that the cutter can cut.
func (c *Cutter) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.mu.Lock()
	if c.busy {
		defer context.AfterFunc(c.ctx, cancel)()
	}
	c.mu.Unlock()
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	cut := &cuttable{TCPConn: conn.(*net.TCPConn), cutter: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conns == nil {
		c.conns = map[*cuttable]bool{}
	}
	c.conns[cut] = true
	return cut, nil
}

// Watch cuts whatever is done between now and the call of done, when ctx ends before.
func (c *Cutter) Watch(ctx context.Context) (done func()) {
	c.mu.Lock()
	c.call++
	c.busy, c.ctx = true, ctx
	call := c.call
	c.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { c.cut(call) })
	return func() {
		stop()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.busy = false
		for conn := range c.conns {
			// the library has closed the one that was hit in a call; the others are sound
			conn.cut = false
		}
	}
}

func (c *Cutter) cut(call int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.busy || c.call != call {
		return
	}
	for conn := range c.conns {
		conn.cut = true
		_ = conn.TCPConn.SetDeadline(time.Unix(1, 0)) // fails on a closed connection only
	}
}

// cuttable is a connection whose deadline, once cut, stays in the past until the call is over.
type cuttable struct {
	*net.TCPConn // with its SyscallConn: go-redis looks whether an idle connection is still sound
	cutter       *Cutter
	cut          bool
}

func (c *cuttable) Close() error {
	c.cutter.mu.Lock()
	delete(c.cutter.conns, c)
	c.cutter.mu.Unlock()
	return c.TCPConn.Close()
}

func (c *cuttable) SetDeadline(t time.Time) error { return c.set(c.TCPConn.SetDeadline, t) }

func (c *cuttable) SetReadDeadline(t time.Time) error { return c.set(c.TCPConn.SetReadDeadline, t) }

func (c *cuttable) SetWriteDeadline(t time.Time) error { return c.set(c.TCPConn.SetWriteDeadline, t) }

func (c *cuttable) set(set func(time.Time) error, t time.Time) error {
	c.cutter.mu.Lock()
	defer c.cutter.mu.Unlock()
	if c.cut {
		return nil
	}
	return set(t)
}
