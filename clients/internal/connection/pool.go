package connection

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/clients/internal/lease"
)

// Pool is one client's connections to a server. Each is used by one task at a time.
type Pool[C any] struct {
	// Connect makes a connection.
	Connect func(context.Context) (C, error)
	// Prepare makes what all connections need, the tables of a lock, on the first of them.
	Prepare func(context.Context, C) error
	// Usable reports whether a connection that was given back can be used again.
	Usable func(C) bool
	// Drop closes a connection.
	Drop func(C)

	mu       sync.Mutex
	prepared bool
	closed   bool
	idle     []C
}

// Borrow returns a connection for the caller alone, with the tables in place. Its error is
// lease.ErrClosed after Close.
func (p *Pool[C]) Borrow(ctx context.Context) (c C, err error) {
	if err := ctx.Err(); err != nil {
		return c, err
	}
	p.mu.Lock()
	prepared, closed := p.prepared, p.closed
	n := len(p.idle)
	if !closed && n > 0 {
		c, p.idle = p.idle[n-1], p.idle[:n-1]
	}
	p.mu.Unlock()
	if closed {
		return c, lease.ErrClosed
	}
	if n > 0 {
		return c, nil
	}
	if c, err = p.Connect(ctx); err != nil {
		return c, fmt.Errorf("connect: %w", err)
	}
	if prepared {
		return c, nil
	}
	if err := p.Prepare(ctx, c); err != nil {
		p.Drop(c)
		return c, fmt.Errorf("make the tables: %w", err)
	}
	p.mu.Lock()
	p.prepared = true
	p.mu.Unlock()
	return c, nil
}

// Warm makes the first connection, and with it the tables, so that the first acquire need not. A
// server that cannot be reached within a second is asked again by the first acquire.
func (p *Pool[C]) Warm(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if c, err := p.Borrow(ctx); err == nil {
		p.Return(c)
	}
}

// Return takes a connection back. One that cannot be used again is closed.
func (p *Pool[C]) Return(c C) {
	p.mu.Lock()
	keep := !p.closed && p.Usable(c)
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		p.Drop(c)
	}
}

// Close closes the idle connections and lets no more be made.
func (p *Pool[C]) Close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, c := range idle {
		p.Drop(c)
	}
}
