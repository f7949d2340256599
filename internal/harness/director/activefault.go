package director

import (
	"context"
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/nemesis"
)

// activeFault is one fault of a strike, in effect until it is healed.
type activeFault struct {
	nemesis.InEffect
	part nemesis.Part
	info history.FaultInfo
	// client is the only one that is struck; 0: several, or nodes.
	client int32
	// spans are the places in director.spans where its end is to be noted.
	spans []int
	stop  func() bool   // keeps it from being healed at its planned end
	done  chan struct{} // closed when it is healed
}

// begin records the beginning of a fault that is in effect, or is about to kill. Of one that might
// have missed it says since when. Whom it met is told at its end.
func (d *Director) begin(in *activeFault) {
	info := in.info
	if !in.part.Kills() {
		info.Holding, info.Waiting = 0, false
	}
	if from := in.From(); from != 0 && !sure(in.part) {
		info.From = d.set.Recorder.Relative(from)
	}
	info.Clocks = d.readings(in.InEffect)
	d.set.Recorder.Record(history.Event{Type: history.Fault, Client: in.client, Fault: &info})
}

// healLater heals a fault at its planned end, or as soon as the run is canceled, and not before all
// that strikes together with it has begun.
func (d *Director) healLater(ctx context.Context, a *activeStrike, in *activeFault) {
	in.stop = d.set.Time.After(ctx, in.part.For, func(whole bool) {
		<-a.begun
		if in.part.OnClocks() && !d.set.ClocksOfStopped {
			for _, other := range a.active {
				if other.part.Stops() {
					<-other.done
				}
			}
		}
		err := d.heal(in)
		if !whole {
			err = nil
		}
		d.over(a, err)
	})
}

// abandon heals at once what has begun of a strike that failed, the last one first: clocks when
// what was stopped goes on.
func (d *Director) abandon(a *activeStrike) {
	for _, in := range slices.Backward(a.active) {
		if !in.stop() {
			<-in.done
			continue
		}
		_ = d.heal(in) // the strike's own error is told
		d.over(a, nil)
	}
}

// heal ends a fault, and records what it did.
func (d *Director) heal(in *activeFault) error {
	defer close(in.done)
	effect, err := in.Heal()
	d.mu.Lock()
	for _, at := range in.spans {
		d.spans[at].to = d.set.Recorder.Now()
	}
	d.mu.Unlock()
	in.info.Clocks = d.readings(in.InEffect)
	d.end(in.info, in.client, effect, in.bit(effect, err))
	if err != nil {
		return fmt.Errorf("fault %d: %w", in.info.ID, err)
	}
	return nil
}

// bit reports whether a fault that has been healed did what was planned.
func (in *activeFault) bit(effect nemesis.Effect, err error) bool {
	return err == nil && effect.Bit && effect.Lasted() >= in.part.For
}

// end records that a fault has been healed, and what it was measured to have done.
// It is called when all is whole again: the time of the event is the end of what
// the fault may have disturbed. bit reports whether the fault did what was planned.
func (d *Director) end(info history.FaultInfo, client int32, effect nemesis.Effect, bit bool) {
	info.Phase, info.Evidence, info.Bit, info.Kept = "end", effect.Proof, bit, info.Kept || effect.Kept
	info.From, info.To = d.set.Recorder.Relative(effect.From), d.set.Recorder.Relative(effect.To)
	if info.Bites() {
		d.set.IDs.Bit(info.Plan)
	}
	d.set.Recorder.Record(history.Event{Type: history.Fault, Client: client, Fault: &info})
}

// heldByVictims tells what the victims held just now, and whether one of them waited.
// Struck at a random moment, a client may have begun its release before the
// fault took effect, and such a fault met no holder.
func (d *Director) heldByVictims(a *activeStrike) (grant int64, waiting bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, v := range a.victims {
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
