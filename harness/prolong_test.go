package harness

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// TestStretch: a run that has shown enough ends at its time; one that has not goes on while it shows more, and no longer than it may.
func TestStretch(t *testing.T) {
	const planned, longer = 100 * time.Millisecond, 400 * time.Millisecond
	for _, c := range []struct {
		name   string
		needed int64
		every  time.Duration // how often it shows one more; 0: never
		longer time.Duration
		least  time.Duration // that it takes
		enough bool
	}{
		{"enough at the time", 1, 10 * time.Millisecond, time.Hour, planned, true},
		{"nothing needed", 0, 0, time.Hour, planned, true},
		{"enough later", 5, 50 * time.Millisecond, time.Hour, 250 * time.Millisecond, true},
		{"never enough", 1000, 10 * time.Millisecond, longer, planned + longer, false},
		{"nothing more for long", 1000, 0, longer, longer / 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var have atomic.Int64
			if c.every > 0 {
				go func() {
					for pause(ctx, nil, c.every) {
						have.Add(1)
					}
				}()
			}
			began := time.Now()
			stretch{planned, c.longer, c.needed, have.Load, have.Load}.pass(ctx)
			if took := time.Since(began); took < c.least {
				t.Errorf("it ended after %v, and may not before %v", took, c.least)
			}
			if enough := have.Load() >= c.needed; enough != c.enough {
				t.Errorf("it ended with %d of %d", have.Load(), c.needed)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stretch{time.Hour, time.Hour, 1, new(atomic.Int64).Load, new(atomic.Int64).Load}.pass(ctx) // it ends with its context
}
