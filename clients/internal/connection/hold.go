package connection

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/clients"
)

// enter waits for the hold's connection, for the caller alone. It is an error
// if the hold has ended, ErrNotHeld then.
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

func (h *hold) ended() bool {
	select {
	case <-h.done:
		return true
	default:
		return false
	}
}

// end ends the hold, once. Unless why is empty it tells of the loss, and closes
// the connection: what the client has given up must not stay locked.
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
	h.conn.Cut()
	clients.Tell(l.lost, clients.Loss{Key: h.key, Why: why}, l.ending, l.background.Go)
}

// ask asks the server whether the connection has the lock. If it has not, or
// the connection is broken, the hold has ended.
func (h *hold) ask(ctx context.Context) error {
	if err := h.enter(ctx); err != nil {
		return err
	}
	defer h.leave()
	held, err := h.conn.Held(ctx)
	switch {
	case err != nil:
		h.end(fmt.Sprintf("the connection was given up: %v", err))
		if ctx.Err() == nil {
			err = errors.Join(clients.ErrNotHeld, err)
		}
		return err
	case !held:
		h.end("the server says that the lock is not held")
		return clients.ErrNotHeld
	}
	return nil
}

// The rhythm of watch, in ticks: it asks after some, and waits for the answer for some.
const (
	ticksPerTTL = 16
	askTicks    = 4
	waitTicks   = 12
)

// watch asks the server every quarter of a TTL, and gives the lock up when there is no
// answer for the rest of it. It counts ticks of its own and not the time: while the client
// is stopped there are none, and a server that was not listened to has not been silent.
func (h *hold) watch() {
	tick := time.NewTicker(h.lock.ttl / ticksPerTTL)
	defer tick.Stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var answered chan struct{} // nil: nothing is asked
	for ticks := 0; ; {
		select {
		case <-h.done:
			return
		case <-answered:
			answered, ticks = nil, 0
		case <-tick.C:
			ticks++
		}
		switch {
		case answered == nil && ticks >= askTicks:
			answer := make(chan struct{})
			answered, ticks = answer, 0
			h.lock.background.Go(func() {
				defer close(answer)
				_ = h.ask(ctx) // it ends the hold if it must
			})
		case answered != nil && ticks >= waitTicks:
			h.end("the server has not answered for most of a TTL")
		}
	}
}
