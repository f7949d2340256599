package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Serve answers clients on the listener until ctx is done, and returns when the
// last connection is closed. A request that was already taken may still be carried
// out meanwhile. The error is nil after ctx, and else why accepting ended.
func Serve(ctx context.Context, l net.Listener, ledger Ledger) error {
	s := &server{ledger: ledger, conns: map[*serverConn]bool{}}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		l.Close()
		s.closeAll()
	})
	defer stop()
	var handlers sync.WaitGroup
	defer handlers.Wait()
	defer s.closeAll()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("store on %s: %w", l.Addr(), err)
		}
		c := &serverConn{server: s, conn: conn}
		if !s.add(c) {
			conn.Close()
			continue
		}
		handlers.Go(func() {
			defer s.remove(c)
			c.handle(ctx)
		})
	}
}

type server struct {
	ledger Ledger
	mu     sync.Mutex
	closed bool
	conns  map[*serverConn]bool
}

func (s *server) add(c *serverConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.conns[c] = true
	}
	return !s.closed
}

func (s *server) remove(c *serverConn) {
	c.conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

func (s *server) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for c := range s.conns {
		c.conn.Close()
	}
}

// watermark returns an instant before which every request was carried out and
// is in the ledger. The order of the two looks matters: a request that is not
// yet seen in progress below arrives, and so is stamped, after now.
func (s *server) watermark() int64 {
	now := monotime.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if since := c.since.Load(); since != 0 {
			now = min(now, since)
		}
	}
	return now
}

// serverConn is one client's connection.
type serverConn struct {
	server *server
	conn   net.Conn
	// since is a stamp from before the ledger was asked to carry the present
	// request out; 0 when there is none.
	since atomic.Int64
	// session is the connection's own at the engine, once it has had a transaction.
	session *Session
}

func (c *serverConn) handle(ctx context.Context) {
	lines := bufio.NewReaderSize(c.conn, maxLine)
	out := json.NewEncoder(c.conn)
	defer c.rollBack()
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			var a answer
			a.setError(fmt.Errorf("a line of more than %d bytes: %w", maxLine, ErrBadRequest))
			_ = out.Encode(&a) // the connection ends either way
			return
		}
		if err != nil {
			return // the client has gone, or Serve is ending
		}
		a := c.answer(ctx, line)
		if err := out.Encode(&a); err != nil {
			return
		}
	}
}

// answer carries one call out.
func (c *serverConn) answer(ctx context.Context, line []byte) (a answer) {
	var q call
	if err := decodeStrict(line, &q); err != nil {
		a.setError(err)
		return a
	}
	var err error
	switch request := q.Request != nil && (q.Do == callRead || q.Do == callWrite); {
	case request && q.Isolation != "":
		a.Entry, err = c.within(ctx, *q.Request, q.Do == callWrite, q.Isolation)
	case q.Do == callCommit:
		err = c.commit(ctx)
	case request:
		a.Entry, err = c.carryOut(ctx, *q.Request, q.Do == callWrite)
	case q.Do == callEntries:
		a.Entries, a.Watermark, err = c.entries(ctx, q.After, q.Limit)
	case q.Do == callInfo:
		a.Info = describe(c.server.ledger)
	default:
		err = fmt.Errorf("call %q with request %v: %w", q.Do, q.Request, ErrBadRequest)
	}
	if err != nil {
		a.setError(err)
	}
	return a
}

func (c *serverConn) carryOut(ctx context.Context, r Request, write bool) (*Entry, error) {
	c.since.Store(monotime.Now())
	defer c.since.Store(0)
	e, err := c.server.ledger.Do(ctx, r, write)
	if err != nil && !decided(err) {
		return nil, err
	}
	return &e, err
}

// within carries a request out in the connection's transaction.
func (c *serverConn) within(ctx context.Context, r Request, write bool, isolation string) (*Entry, error) {
	c.since.Store(monotime.Now())
	defer c.since.Store(0)
	if c.session == nil {
		l, ok := c.server.ledger.(transactional)
		if !ok {
			return nil, fmt.Errorf("this store has no transactions: %w", ErrBadRequest)
		}
		var err error
		if c.session, err = l.Session(ctx); err != nil {
			return nil, err
		}
	}
	e, err := c.session.Do(ctx, r, write, isolation)
	if err != nil && !decided(err) {
		return nil, err
	}
	return &e, err
}

func (c *serverConn) commit(ctx context.Context) error {
	c.since.Store(monotime.Now())
	defer c.since.Store(0)
	if c.session == nil {
		return fmt.Errorf("no transaction is open on this connection: %w", ErrAborted)
	}
	return c.session.Commit(ctx)
}

// rollBack gives up what a connection that ended had open.
func (c *serverConn) rollBack() {
	if c.session != nil {
		_ = c.session.Close() // nobody is left to tell
	}
}

func (c *serverConn) entries(ctx context.Context, after int64, limit int) ([]Entry, int64, error) {
	w := c.server.watermark()
	entries, err := c.server.ledger.Entries(ctx, after, limit)
	if err != nil {
		return nil, 0, err
	}
	if len(entries) == limit {
		// There may be more: the account is complete only up to the last one.
		w = min(w, entries[limit-1].At)
	}
	return entries, w, nil
}

// decodeStrict refuses what would silently mean something else: unknown fields, trailing data,
// bytes that are not UTF-8 (encoding/json would replace them, and two keys would become one).
func decodeStrict(line []byte, q *call) error {
	if !utf8.Valid(line) {
		return fmt.Errorf("a call that is not UTF-8: %w", ErrBadRequest)
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(q); err != nil {
		return fmt.Errorf("a call that is not understood: %w: %w", err, ErrBadRequest)
	}
	if d.More() {
		return fmt.Errorf("a call followed by more on its line: %w", ErrBadRequest)
	}
	return nil
}

// Describer is implemented by engines that can name themselves.
type Describer interface {
	Version() string
	Fencing() Fencing
}

func describe(l Ledger) *Info {
	if d, ok := l.(Describer); ok {
		return &Info{Version: d.Version(), Fencing: d.Fencing().String()}
	}
	return &Info{}
}
