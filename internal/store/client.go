package store

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"time"
)

// Client is a connection to a store. Calls are sent one after the other, each exactly once.
// After an error that leaves a call's outcome open the connection is given up, so that a
// late answer can never be taken for the next call's; the next call makes a new one.
//
// Safe for concurrent use, but calls wait for each other.
type Client struct {
	addr string
	turn chan struct{} // holds one value while a call is on its way
	conn net.Conn      // nil: the next call connects
	in   *bufio.Reader
	// isolation is the level of the transactions that all requests are part of; empty: of none
	isolation string
}

// Dial connects to the store at addr (host:port). The error is ErrNotSent, wrapped.
func Dial(ctx context.Context, addr string) (*Client, error) {
	c := &Client{addr: addr, turn: make(chan struct{}, 1)}
	return c, c.connect(ctx)
}

func (c *Client) connect(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.addr)
	if err != nil {
		return fmt.Errorf("connect to the store at %s: %w: %w", c.addr, err, ErrNotSent)
	}
	c.conn, c.in = conn, bufio.NewReaderSize(conn, 32<<10)
	return nil
}

// Read reads the key's value and version.
func (c *Client) Read(ctx context.Context, r Request) (Entry, error) { return c.do(ctx, callRead, r) }

// Write writes the value. With ErrRefused and ErrConflict it returns the entry that says so.
func (c *Client) Write(ctx context.Context, r Request) (Entry, error) {
	return c.do(ctx, callWrite, r)
}

// Isolate has every read and write from now on be part of a transaction, which begins with the
// first one and ends with Commit, with an error, or with the connection.
func (c *Client) Isolate(level string) { c.isolation = level }

// Commit commits the connection's transaction. With ErrAborted nothing of it stands.
func (c *Client) Commit(ctx context.Context) error {
	_, err := c.call(ctx, call{Do: callCommit})
	return err
}

func (c *Client) do(ctx context.Context, what string, r Request) (Entry, error) {
	// Said here as well as there: JSON would quietly mend a broken key on the way.
	if err := r.Validate(what == callWrite, Fencing{Guarded: r.Guard != ""}); err != nil {
		return Entry{}, fmt.Errorf("%s: %w", what, err)
	}
	a, err := c.call(ctx, call{Do: what, Request: &r, Isolation: c.isolation})
	if err != nil && !decided(err) {
		return Entry{}, err
	}
	if a.Entry == nil {
		return Entry{}, fmt.Errorf("%s %q at %s: the store answered without an entry", what, r.Key, c.addr)
	}
	return *a.Entry, err
}

// Entries returns up to limit entries (at most MaxEntries) after the given
// sequence number, and the watermark: every request that the store carried out
// before that instant (monotime.Now) is among the entries returned so far.
func (c *Client) Entries(ctx context.Context, after int64, limit int) ([]Entry, int64, error) {
	a, err := c.call(ctx, call{Do: callEntries, After: after, Limit: limit})
	return a.Entries, a.Watermark, err
}

// Info asks the store what it is.
func (c *Client) Info(ctx context.Context) (Info, error) {
	a, err := c.call(ctx, call{Do: callInfo})
	if err == nil && a.Info == nil {
		err = fmt.Errorf("info at %s: the store answered without it", c.addr)
	}
	if err != nil {
		return Info{}, err
	}
	return *a.Info, nil
}

// Close gives the connection up, once the call on its way is over. The client can be used again.
func (c *Client) Close() error {
	c.turn <- struct{}{} // every call ends with its context
	defer func() { <-c.turn }()
	return c.drop()
}

func (c *Client) drop() error {
	if c.conn == nil {
		return nil
	}
	err := c.conn.Close()
	c.conn, c.in = nil, nil
	return err
}

// call sends one call and returns its answer.
func (c *Client) call(ctx context.Context, q call) (answer, error) {
	line, err := json.Marshal(q)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w: %w", q.Do, err, ErrBadRequest)
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return answer{}, fmt.Errorf("%s at %s: %w: %w", q.Do, c.addr, context.Cause(ctx), ErrNotSent)
	}
	if err := ctx.Err(); err != nil {
		return answer{}, fmt.Errorf("%s at %s: %w: %w", q.Do, c.addr, err, ErrNotSent)
	}
	if c.conn == nil {
		if err := c.connect(ctx); err != nil {
			return answer{}, err
		}
	}
	a, err := c.exchange(ctx, append(line, '\n'))
	if err != nil {
		_ = c.drop() // the error at hand says more
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return answer{}, fmt.Errorf("%s at %s: no answer, it may have been carried out: %w", q.Do, c.addr, err)
	}
	if err := a.err(); err != nil {
		return a, fmt.Errorf("%s at %s: %w", q.Do, c.addr, err)
	}
	return a, nil
}

// exchange writes a line and reads one, until ctx is done.
func (c *Client) exchange(ctx context.Context, line []byte) (a answer, err error) {
	conn := c.conn
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		// Had the context ended just now, its deadline would hit the next call.
		if !stop() && err == nil {
			_ = c.drop()
		}
	}()
	if _, err := conn.Write(line); err != nil {
		return a, err
	}
	reply, err := c.in.ReadBytes('\n')
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(reply, &a); err != nil {
		return a, fmt.Errorf("an answer that is not understood: %w", err)
	}
	return a, nil
}
