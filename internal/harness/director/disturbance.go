package director

import (
	"context"
	"slices"

	"github.com/lockchaos/lockchaos/internal/harness/clock"
)

// UndisturbedSince returns since when no fault has disturbed anything, as a stamp of the run's
// time, and false if one does.
func (d *Director) UndisturbedSince() (stamp int64, undisturbed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.undisturbed, !d.strikes()
}

// DisturbedSince reports whether what a fault on nodes has done may still be felt, or was after a
// stamp of the run's time.
func (d *Director) DisturbedSince(stamp int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.down || d.wholeAt > stamp
}

// strikes reports whether a fault is in force. The caller holds the lock.
func (d *Director) strikes() bool { return d.down || len(d.struck) > 0 }

// Suspend keeps faults away until Resume is called. It returns false if one is in force.
func (d *Director) Suspend() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.suspended = !d.strikes()
	return d.suspended
}

// Resume lets faults strike again.
func (d *Director) Resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.suspended = false
}

// AwaitThaw waits until no fault keeps the client frozen.
func (d *Director) AwaitThaw(ctx context.Context, client int32) error {
	for {
		d.mu.Lock()
		frozen := slices.ContainsFunc(d.spans, func(s span) bool { return s.client == client && s.frozen && s.to == 0 })
		d.mu.Unlock()
		if !frozen {
			return nil
		}
		if !clock.Pause(ctx, nil, turnStep) {
			return context.Cause(ctx)
		}
	}
}

// Struck reports whether a fault strikes the client now.
func (d *Director) Struck(client int32) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.struck[client]
}

// AwaitRelease waits until no fault strikes the client.
func (d *Director) AwaitRelease(ctx context.Context, client int32) error {
	for d.Struck(client) {
		if !clock.Pause(ctx, nil, turnStep) {
			return context.Cause(ctx)
		}
	}
	return nil
}
