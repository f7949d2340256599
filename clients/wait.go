package clients

import (
	"context"
	"time"
)

// Wait is what a lock does between two tries: it returns nil after d, or the context's error as soon as that has ended. A loop that looks at its
// context anyway need not look at the error.
func Wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
