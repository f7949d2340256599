package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/clients"
)

// enter waits for the hold's connection, for the caller alone. It is an error if the hold has ended, ErrNotHeld then.
func (h *hold) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err // nothing is sent
	}
	select {
	case h.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if h.ended() {
		h.leave()
		return fmt.Errorf("the connection that held it has ended, or was given back: %w", clients.ErrNotHeld)
	}
	return nil
}

func (h *hold) leave() { <-h.turn }

// ended tells whether the hold is over. Nothing heard for a TTL ends it, whoever notices first.
func (h *hold) ended() bool {
	h.mu.Lock()
	silent := !h.over && time.Since(h.heard) >= h.lock.ttl
	h.mu.Unlock()
	if silent {
		h.end("the server has not answered for a TTL")
	}
	select {
	case <-h.done:
		return true
	default:
		return false
	}
}

// end ends the hold, once. Unless why is empty it tells of the loss, and closes the connection: what the client has given up must not stay locked.
func (h *hold) end(why string) {
	h.mu.Lock()
	ended := h.over
	h.over = true
	h.mu.Unlock()
	if ended {
		return
	}
	close(h.done)
	l := h.lock
	l.holdsMu.Lock()
	delete(l.holds, h)
	l.holdsMu.Unlock()
	if why == "" {
		return
	}
	h.cut()
	loss := clients.Loss{Key: h.key, Why: why}
	select {
	case l.lost <- loss:
	default:
		l.background.Go(func() {
			select {
			case l.lost <- loss:
			case <-l.ending:
			}
		})
	}
}

// cut closes the hold's connection under whoever uses it.
func (h *hold) cut() { _ = h.conn.PgConn().Conn().Close() }

// ask asks the server whether the connection has the lock. If it has not, or the connection is broken, the hold has ended.
func (h *hold) ask(ctx context.Context) error {
	if err := h.enter(ctx); err != nil {
		return err
	}
	defer h.leave()
	asked := time.Now()
	var held bool
	err := h.conn.QueryRow(ctx, h.lock.scheme.held, h.lock.scheme.argument(h.key)).Scan(&held)
	switch {
	case err != nil:
		// The connection is closed, or is now: pgx can't use it after a context that ended in the middle.
		h.end(fmt.Sprintf("the connection was given up: %v", err))
		h.lock.drop(h.conn)
		if ctx.Err() == nil {
			err = errors.Join(clients.ErrNotHeld, err)
		}
		return err
	case !held:
		h.end("the server says that the lock is not held")
		h.lock.drop(h.conn)
		return clients.ErrNotHeld
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard = asked
	return nil
}

// watch asks the server every quarter of a TTL, and gives the lock up when there was no answer for a TTL.
func (h *hold) watch() {
	tick := time.NewTicker(h.lock.ttl / 4)
	defer tick.Stop()
	for {
		select {
		case <-h.done:
			return
		case <-tick.C:
		}
		if h.ended() {
			return
		}
		h.mu.Lock()
		deadline := h.heard.Add(h.lock.ttl)
		h.mu.Unlock()
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		_ = h.ask(ctx) // it ends the hold if it must
		cancel()
	}
}
