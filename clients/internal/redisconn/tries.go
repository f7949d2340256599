package redisconn

import (
	"context"
	"sync"
)

// Tries ends a library's loop of tries between two of them, and nowhere else: a context
// that ended in the middle of a try would leave what the try has taken. The library is
// given a context of its own, which ends in a pause, or when the next one begins.
type Tries struct {
	mu      sync.Mutex
	stop    context.CancelFunc // ends the library's context
	pausing bool
	over    bool // the caller's context has ended
}

// Begin starts a call. stop ends the context that the library was given.
func (t *Tries) Begin(stop context.CancelFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop, t.pausing, t.over = stop, false, false
}

// End is called when the call has run out of time.
func (t *Tries) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over = true; t.pausing {
		t.stop()
	}
}

// Pause is called when a pause between two tries begins.
func (t *Tries) Pause() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pausing = true; t.over {
		t.stop()
	}
}

// Sending is called before a command is sent: the pause is over.
func (t *Tries) Sending() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pausing = false
}
