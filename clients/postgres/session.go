package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/lease"
	"github.com/lockchaos/lockchaos/monotime"
)

// sessionLock is a lock that a connection holds.
type sessionLock struct {
	*pool
	scheme scheme
	lost   chan clients.Loss

	ending     chan struct{} // closed by Close
	holdsMu    sync.Mutex
	holds      map[*hold]bool
	background sync.WaitGroup
}

// hold is the secret of a grant, with a connection of its own.
type hold struct {
	lock *sessionLock
	key  string
	turn chan struct{} // has room for one: whoever uses the connection
	done chan struct{} // closed when the hold has ended
	conn *pgx.Conn

	mu   sync.Mutex
	over bool
}

func openSession(c clients.Config, s scheme) (*sessionLock, error) {
	p, err := newPool(c, s.tables)
	if err != nil {
		return nil, err
	}
	return &sessionLock{pool: p, scheme: s, lost: make(chan clients.Loss, 16), ending: make(chan struct{}), holds: map[*hold]bool{}}, nil
}

// Acquire asks again and again, each time for as long as the server lets a statement wait, until ctx is done.
func (l *sessionLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	g := clients.Grant{Key: key}
	err := ctx.Err()
	busy := false
	for ctx.Err() == nil {
		start := monotime.Now()
		var h *hold
		h, err = l.attempt(ctx, key)
		if err == nil {
			// An earlier attempt of this call, if open, was another connection's: it cannot have been this grant.
			return clients.Grant{Key: key, Attempt: start, First: start, Secret: h}, nil
		}
		if g.First == 0 && errors.Is(err, lease.ErrOpen) {
			g.First = start
		}
		switch {
		case errors.Is(err, clients.ErrBusy):
			busy = true
		case errors.Is(err, lease.ErrClosed):
			return g, fmt.Errorf("acquire %q from PostgreSQL at %s: %w", key, l.at(), err)
		default:
			_ = clients.Wait(ctx, retryPause) // the loop looks at ctx
		}
	}
	return g, fmt.Errorf("acquire %q from PostgreSQL at %s: %w", key, l.at(), lease.OutOfTime(ctx, g, busy, err))
}

// attempt asks once. ErrBusy: the lock was taken for as long as the server lets a statement wait.
func (l *sessionLock) attempt(ctx context.Context, key string) (*hold, error) {
	c, err := l.take(ctx)
	if err != nil {
		return nil, err
	}
	late, cancel := clients.WithGrace(ctx, grace)
	defer cancel()
	err = l.try(late, c, key)
	if err != nil || ctx.Err() != nil {
		return nil, l.undo(late, c, key, err)
	}
	h := &hold{lock: l, key: key, turn: make(chan struct{}, 1), done: make(chan struct{}), conn: c}
	l.holdsMu.Lock()
	l.holds[h] = true
	l.holdsMu.Unlock()
	l.background.Go(h.watch)
	return h, nil
}

func (l *sessionLock) try(ctx context.Context, c *pgx.Conn, key string) error {
	if l.scheme.prepare != "" {
		if _, err := c.Exec(ctx, l.scheme.prepare, l.scheme.argument(key)); err != nil {
			return fmt.Errorf("%s: %w", l.scheme.prepare, err)
		}
	}
	if l.scheme.begin != "" {
		if _, err := c.Exec(ctx, l.scheme.begin); err != nil {
			return fmt.Errorf("%s: %w", l.scheme.begin, err)
		}
	}
	_, err := c.Exec(ctx, l.scheme.take, l.scheme.argument(key))
	return err
}

// undo leaves nothing behind of a try that failed, or that came too late. What can't be taken back ends with its connection.
func (l *sessionLock) undo(ctx context.Context, c *pgx.Conn, key string, because error) error {
	defer l.give(c)
	if because != nil && !answered(because) {
		l.drop(c)
		return opened(because)
	}
	ofSession := l.scheme.begin == ""
	if because == nil || ofSession || !c.IsClosed() && c.PgConn().TxStatus() != 'I' {
		give, args := "ROLLBACK", []any(nil)
		if ofSession {
			// Also when the server says that lock_timeout ran out: a lock that was granted at that very moment stays with the session, since the
			// end of a statement takes back what belongs to its transaction only (LockErrorCleanup in proc.c). It would be nobody's, for ever.
			give, args = l.scheme.give, []any{l.scheme.argument(key)}
		}
		if _, err := c.Exec(ctx, give, args...); err != nil {
			l.drop(c)
			if because == nil || ofSession {
				return opened(err) // it was ours for a moment, and may be until the server sees the end of the connection
			}
		}
	}
	if because == nil || is(because, lockNotAvailable) {
		return clients.ErrBusy
	}
	return because
}

// Release gives the lock back.
func (l *sessionLock) Release(ctx context.Context, g clients.Grant) error {
	if err := l.release(ctx, g); err != nil {
		return fmt.Errorf("release %q at PostgreSQL %s: %w", g.Key, l.at(), err)
	}
	return nil
}

func (l *sessionLock) release(ctx context.Context, g clients.Grant) error {
	h, err := l.own(g)
	if err != nil {
		return err
	}
	if err := h.enter(ctx); err != nil {
		return err
	}
	defer h.leave()
	held := true
	if l.scheme.begin != "" {
		_, err = h.conn.Exec(ctx, l.scheme.give)
	} else {
		err = h.conn.QueryRow(ctx, l.scheme.give, l.scheme.argument(g.Key)).Scan(&held)
	}
	h.end("")
	switch {
	case err != nil:
		l.drop(h.conn) // and with the connection goes the lock
		return opened(err)
	case !held:
		l.give(h.conn)
		return clients.ErrNotHeld
	}
	l.give(h.conn)
	return nil
}

// Held asks the server whether this connection has the lock.
func (l *sessionLock) Held(ctx context.Context, g clients.Grant) error {
	h, err := l.own(g)
	if err != nil {
		return err
	}
	if err := h.ask(ctx); err != nil {
		return fmt.Errorf("ask PostgreSQL at %s who holds %q: %w", l.at(), g.Key, err)
	}
	return nil
}

// Lost tells of grants whose connection ended, or whose server was silent for most of a TTL.
func (l *sessionLock) Lost() <-chan clients.Loss { return l.lost }

// Close closes every connection, and so gives up every lock.
func (l *sessionLock) Close(context.Context) error {
	l.holdsMu.Lock()
	var holds []*hold
	for h := range l.holds {
		holds = append(holds, h)
	}
	l.holdsMu.Unlock()
	for _, h := range holds {
		h.end("")
		h.cut()
	}
	select {
	case <-l.ending:
	default:
		close(l.ending)
	}
	l.background.Wait()
	l.close()
	return nil
}

// own returns the hold of a grant of this client.
func (l *sessionLock) own(g clients.Grant) (*hold, error) {
	h, ok := g.Secret.(*hold)
	if !ok || h.lock != l {
		return nil, fmt.Errorf("%q: the grant is not one of this client's: %w", g.Key, clients.ErrNotHeld)
	}
	return h, nil
}
