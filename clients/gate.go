package clients

import (
	"context"
	"sync"
)

// Gate stands before the renewals that a lock makes by itself, in the
// background, so that a fault can hold them up while the application goes on: a
// goroutine that gets no processor, a thread pool that others have filled, a
// renewal behind a long collection of another's. The nil Gate is always open.
type Gate struct {
	mu     sync.Mutex
	closed chan struct{} // nil while the gate is open; closed when it opens
	held   int           // renewals that have found it closed, since it was
}

// Pass is called before each renewal. It returns nil at once while the gate is
// open, else when it opens, or the context's error if that ends first.
func (g *Gate) Pass(ctx context.Context) error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	closed := g.closed
	if closed != nil {
		g.held++
	}
	g.mu.Unlock()
	if closed == nil {
		return nil
	}
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Shut closes the gate; one that is closed stays so.
func (g *Gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed, g.held = make(chan struct{}), 0
	}
}

// Open lets everyone pass, and returns how many renewals were held up since the gate was shut.
func (g *Gate) Open() (held int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		close(g.closed)
		g.closed, held = nil, g.held
	}
	return held
}
