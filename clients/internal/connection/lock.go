// Package connection is a lock that a connection to a server holds, whatever the
// server. What asks it is a Server; the waiting, the questions that notice a
// loss, and what becomes of a request that is not answered are the same for all.
//
// Each grant has a connection of its own. A client that is stopped keeps its lock, since
// the kernel answers for it. A client asks the server four times a TTL, and takes the lock
// for lost when it was not answered for the rest of one; then it closes the connection. The
// server must not give the lock to another sooner. What the client slept through, stopped,
// does not count: the server may hear of a sleeping client, and then it still has its lock.
package connection

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/internal/lease"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Server gives locks to connections. Its errors are clients.ErrBusy where another has the lock and
// nothing of ours is left, clients.ErrOpen where it may have done what it was asked for,
// lease.ErrClosed after Close; after any other it has certainly not.
type Server interface {
	// Take asks for the key on a connection that nobody else uses. The server
	// lets it wait for a moment at most.
	Take(ctx context.Context, key string) (Conn, error)
	// Close closes the connections that hold nothing.
	Close()
	// String says what it is and where, for errors: "PostgreSQL at 10.88.0.2:5432".
	fmt.Stringer
}

// Conn is a connection that has a lock. Its calls come one at a time, but for Cut.
type Conn interface {
	// Give gives the lock back; held: it was still ours.
	Give(ctx context.Context) (held bool, err error)
	// Free takes the connection back, which holds nothing any more.
	Free()
	// Held asks the server whether the connection has the lock.
	Held(ctx context.Context) (bool, error)
	// Cut closes the connection under the call that uses it.
	Cut()
}

// retryPause is the pause after an attempt that failed for another reason than
// a lock that is taken.
const retryPause = 20 * time.Millisecond

// Claims are those of such a lock, but for what the server is.
var Claims = clients.Claims{Validity: "session", Token: "none", Confirms: []string{"release", "held"}, Notices: "alone", Identity: "unique",
	NoExpiry: true, Permits: 1}

// LostGrace is a question every quarter of the TTL, and a TTL for its answer,
// by ticks of its own: cut off or not.
func LostGrace(ttl time.Duration) time.Duration { return ttl + ttl/4 }

// New makes the lock of one client.
func New(s Server, ttl time.Duration) clients.Lock {
	return &lock{server: s, ttl: ttl, lost: make(chan clients.Loss, 16), ending: make(chan struct{}),
		holds: map[*hold]bool{}}
}

type lock struct {
	server Server
	ttl    time.Duration
	lost   chan clients.Loss

	ending     chan struct{} // closed by Close
	holdsMu    sync.Mutex
	holds      map[*hold]bool
	background sync.WaitGroup
}

// hold is the secret of a grant, with a connection of its own.
type hold struct {
	lock *lock
	key  string
	turn chan struct{} // has room for one: the call that uses the connection
	done chan struct{} // closed when the hold has ended
	conn Conn

	mu   sync.Mutex
	over bool
}

// Acquire asks again and again, each time for as long as the server lets a
// statement wait, until ctx is done.
func (l *lock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	g := clients.Grant{Key: key}
	err := ctx.Err()
	busy := false
	for ctx.Err() == nil {
		start := monotime.Now()
		var h *hold
		h, err = l.attempt(ctx, key)
		if err == nil {
			// An earlier attempt of this call, if open, was another
			// connection's: it cannot have been this grant.
			return clients.Grant{Key: key, Attempt: start, First: start, Secret: h}, nil
		}
		if g.First == 0 && errors.Is(err, clients.ErrOpen) {
			g.First = start
		}
		switch {
		case errors.Is(err, clients.ErrBusy):
			busy = true
		case errors.Is(err, lease.ErrClosed):
			return g, fmt.Errorf("acquire %q from %v: %w", key, l.server, err)
		default:
			_ = clients.Wait(ctx, retryPause) // the loop looks at ctx
		}
	}
	return g, fmt.Errorf("acquire %q from %v: %w", key, l.server, lease.OutOfTime(ctx, g, busy, err))
}

// attempt asks once, and watches over what it is given.
func (l *lock) attempt(ctx context.Context, key string) (*hold, error) {
	c, err := l.server.Take(ctx, key)
	if err != nil {
		return nil, err
	}
	h := &hold{lock: l, key: key, turn: make(chan struct{}, 1), done: make(chan struct{}), conn: c}
	l.holdsMu.Lock()
	l.holds[h] = true
	l.holdsMu.Unlock()
	l.background.Go(h.watch)
	return h, nil
}

// Release gives the lock back.
func (l *lock) Release(ctx context.Context, g clients.Grant) error {
	if err := l.release(ctx, g); err != nil {
		return fmt.Errorf("release %q at %v: %w", g.Key, l.server, err)
	}
	return nil
}

func (l *lock) release(ctx context.Context, g clients.Grant) error {
	h, err := l.own(g)
	if err != nil {
		return err
	}
	if err := h.enter(ctx); err != nil {
		return err
	}
	defer h.leave()
	held, err := h.conn.Give(ctx)
	h.end("")
	switch {
	case err != nil:
		h.conn.Cut() // and with the connection goes the lock
		return err
	case !held:
		err = clients.ErrNotHeld
	}
	h.conn.Free()
	return err
}

// Held asks the server whether this connection has the lock.
func (l *lock) Held(ctx context.Context, g clients.Grant) error {
	h, err := l.own(g)
	if err != nil {
		return err
	}
	if err := h.ask(ctx); err != nil {
		return fmt.Errorf("ask %v who holds %q: %w", l.server, g.Key, err)
	}
	return nil
}

// Lost tells of grants whose connection ended, or whose server was silent for most of a TTL.
func (l *lock) Lost() <-chan clients.Loss { return l.lost }

// Close closes every connection, and so gives up every lock.
func (l *lock) Close(context.Context) error {
	l.holdsMu.Lock()
	holds := slices.Collect(maps.Keys(l.holds))
	l.holdsMu.Unlock()
	for _, h := range holds {
		h.end("")
		h.conn.Cut()
	}
	select {
	case <-l.ending:
	default:
		close(l.ending)
	}
	l.background.Wait()
	l.server.Close()
	return nil
}

// own returns the hold of a grant of this client.
func (l *lock) own(g clients.Grant) (*hold, error) {
	h, ok := g.Secret.(*hold)
	if !ok || h.lock != l {
		return nil, fmt.Errorf("%q: the grant is not one of this client's: %w", g.Key, clients.ErrNotHeld)
	}
	return h, nil
}
