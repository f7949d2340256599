package director

import (
	"context"
	"time"
)

// nextGrant waits for a grant whose acquire is sent from now on, and whose client still
// believes in it. It returns 0 when the context has ended, or the workload's time is over.
func (d *Director) nextGrant(ctx context.Context) int64 {
	after := d.set.IDs.Ops()
	step := time.NewTicker(turnStep)
	defer step.Stop()
	for {
		if g := d.newest(); g > after {
			return g
		}
		select {
		case <-step.C:
		case <-d.stop:
			return 0
		case <-ctx.Done():
			return 0
		}
	}
}

// newest is the grant with the greatest number that a client believes in; 0: there is none.
func (d *Director) newest() (grant int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range d.holders {
		grant = max(grant, h.Grant)
	}
	return grant
}
