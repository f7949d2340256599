// Package clock has what the harness waits with: a pause that ends early, and
// the later of two times.
package clock

import (
	"context"
	"time"
)

// Pause waits for d, or less when early is closed. It returns false when the context has ended.
func Pause(ctx context.Context, early <-chan struct{}, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-early:
	case <-ctx.Done():
		return false
	}
	return true
}

func Closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
