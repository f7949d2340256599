package director

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/nemesis"
)

// inForce is a fault in effect.
type inForce struct {
	nemesis.InEffect
	part nemesis.Part
	info history.FaultInfo
	// client is the only one that is struck; 0: several, or nodes.
	client int32
	// spans are the places in director.spans where its end is to be noted.
	spans []int
	done  chan struct{} // closed when it is healed
}

// begin records the beginning of a fault that might have missed, with the time
// since which it is in effect.
func (d *Director) begin(in *inForce) {
	info := in.info
	info.From = d.rec.Relative(in.From())
	d.rec.Record(history.Event{Type: history.Fault, Client: in.client, Fault: &info})
}

// healAll ends faults: each at its planned end, or at once when the run is cancelled. Clocks
// cannot be set right in processes that are stopped, so those wait for the end of what stops them.
func (d *Director) healAll(ctx context.Context, all []*inForce) error {
	errs := make([]error, len(all))
	var healing sync.WaitGroup
	for i, in := range all {
		healing.Go(func() {
			defer close(in.done)
			whole := clock.Pause(ctx, nil, in.part.For)
			if in.part.OnClocks() {
				for _, other := range all {
					if other.part.Stops() {
						<-other.done
					}
				}
			}
			if err := d.heal(in); err != nil && whole {
				errs[i] = fmt.Errorf("fault %d: %w", in.info.ID, err)
			}
		})
	}
	healing.Wait()
	return errors.Join(errs...)
}

// canceled is the context of what is not to be waited for.
func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// heal ends a fault, and records what it did.
func (d *Director) heal(in *inForce) error {
	effect, err := in.Heal()
	d.mu.Lock()
	for _, at := range in.spans {
		d.spans[at].to = d.rec.Now()
	}
	d.mu.Unlock()
	in.info.Clocks = d.readings(in.InEffect)
	d.end(in.info, in.client, effect, err == nil && effect.Bit && effect.Lasted() >= in.part.For)
	return err
}

// end records that a fault has been healed, and what it was measured to have done.
// It is called when all is whole again: the time of the event is the end of what
// the fault may have disturbed. bit reports whether the fault did what was planned.
func (d *Director) end(info history.FaultInfo, client int32, effect nemesis.Effect, bit bool) {
	info.Phase, info.Evidence, info.Bit = "end", effect.Proof, bit
	info.From, info.To = d.rec.Relative(effect.From), d.rec.Relative(effect.To)
	if info.Bites() {
		d.ids.Bit(info.Plan)
	}
	d.rec.Record(history.Event{Type: history.Fault, Client: client, Fault: &info})
}

// met tells what the victims held just now, and whether one of them waited.
// Struck at a random moment, a client may have begun its release before the
// fault took effect, and such a fault met no holder.
func (d *Director) met(h *hit) (grant int64, waiting bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, v := range h.victims {
		held := slices.ContainsFunc(d.holders, func(o nemesis.Holding) bool { return o.Grant == v.Grant })
		if held && (grant == 0 || v.Grant < grant) {
			grant = v.Grant
		}
		waiting = waiting || slices.ContainsFunc(d.waiters,
			func(w nemesis.Waiting) bool { return w.Client == v.Client })
	}
	return grant, waiting
}

// sole is the client that alone is meant; 0: several, or none.
func sole(clients []int32) int32 {
	if len(clients) == 1 {
		return clients[0]
	}
	return 0
}
