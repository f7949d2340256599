package director

import (
	"context"
	"time"

	"github.com/lockchaos/lockchaos/internal/harness/clock"
)

// Absence is why a client's process is gone, or is to go, and when a fresh one takes its place.
type Absence struct {
	Away time.Duration // after a kill, or a shutdown
	// InOrder: the client is closed by its application, as a rolling update stops it.
	InOrder bool
	// Closing is set where the client is closed to free a stuck key.
	Closing *Closing
}

// Closing is how the diagnosis of a stuck key closes a client. Ended is closed
// when the client is; Over by the diagnosis, at its end.
type Closing struct {
	Ended chan struct{}
	Over  <-chan struct{}
}

// Wait waits until a fresh process may come. It returns false when the context has ended.
func (a Absence) Wait(ctx context.Context, done <-chan struct{}) bool {
	if a.Closing == nil {
		return clock.Pause(ctx, done, a.Away)
	}
	close(a.Closing.Ended)
	select {
	case <-a.Closing.Over:
		return true
	case <-ctx.Done():
		return false
	}
}
