package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/nemesis"
)

// strike injects a fault that was taken, and records that: into a client that holds the grant (0: none), or, where the fault is aimed at
// them, into nodes. A fault that lasts goes on when it returns. A client that was killed is told so by errKilled.
func (d *director) strike(ctx context.Context, f *aimed, client int32, grant int64) error {
	info := history.FaultInfo{ID: d.ids.nextFault(), Plan: f.place, Kind: f.plan.Kind, Phase: "begin", Target: f.plan.Target, When: f.plan.When, Injected: true}
	touched(&info, f.spec, client)
	var err error
	if f.plan.Kind == nemesis.KindKill {
		err = d.kill(ctx, f, client, grant, info)
	} else {
		err = d.inject(ctx, f, client, grant, info)
	}
	if errors.Is(err, nemesis.ErrMissed) {
		d.mu.Lock()
		d.letGo(f, client)
		d.mu.Unlock()
		f.over <- nil // to be tried again, if there is time
		return nil
	}
	if err != nil {
		err = fmt.Errorf("fault %d: %w", info.ID, err)
		d.mu.Lock()
		d.letGo(f, client)
		d.mu.Unlock()
		f.over <- err
		return err
	}
	if _, dead := d.death(client); dead && f.plan.Kind == nemesis.KindKill {
		return errKilled
	}
	return nil
}

// inject puts a fault that lasts into effect, records that, and has it healed after the planned time.
func (d *director) inject(ctx context.Context, f *aimed, client int32, grant int64, info history.FaultInfo) error {
	meant, err := d.answered(ctx, f)
	if err != nil {
		return err
	}
	v, err := d.victims(meant, client)
	if err != nil {
		return err
	}
	at := d.expectStalls(f, client)
	in, err := d.effect(ctx, meant, info.ID, client, v)
	if err != nil {
		return err
	}
	if v.client != nil {
		info.Holding = d.stillHolding(client, grant)
	}
	if met, ok := in.(interface{ Met() int64 }); ok {
		info.Holding = met.Met()
	}
	if trap, waits := in.(*nemesis.Trap); waits {
		d.lay(ctx, f, trap, client, info)
		return nil
	}
	d.begin(info, client, in.From())
	go func() {
		f.over <- d.heal(ctx, f, in, client, info, func() {
			if at >= 0 {
				d.spans[at].to = d.rec.Now()
			}
			d.letGo(f, client)
		})
	}()
	return nil
}

// expectStalls notes that from now on late heartbeats of the client are the fault's doing, if it is of that kind. It returns the place in
// spans where the end is to be noted; -1: there is none.
func (d *director) expectStalls(f *aimed, client int32) int {
	if !f.aim.Target.Client() || f.spec.OnLinks() || f.spec.Inside() {
		return -1
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spans = append(d.spans, span{client: client, from: d.rec.Now()})
	return len(d.spans) - 1
}

// begin records that a fault is in effect since from. Client is whom it strikes; 0: nodes.
func (d *director) begin(info history.FaultInfo, client int32, from int64) {
	info.From = d.rec.Relative(from)
	d.rec.Record(history.Event{Type: history.Fault, Client: client, Fault: &info})
}

// heal ends a fault: at its planned end, or at once when the run is cancelled. free ends the fault's grip, under the lock.
func (d *director) heal(ctx context.Context, f *aimed, in nemesis.InEffect, client int32, info history.FaultInfo, free func()) error {
	whole := pause(ctx, nil, f.plan.For.Std())
	effect, err := in.Heal()
	d.mu.Lock()
	free()
	d.mu.Unlock()
	info.Clocks = d.readings(in)
	d.end(info, client, effect, err == nil && effect.Bit && effect.Lasted() >= f.plan.For.Std())
	if err != nil && whole {
		return fmt.Errorf("fault %d: %w", info.ID, err)
	}
	return nil
}

// end records what a fault was measured to have done; bit tells whether that is what was planned.
func (d *director) end(info history.FaultInfo, client int32, effect nemesis.Effect, bit bool) {
	info.Phase, info.Evidence, info.Bit = "end", effect.Proof, bit
	info.From, info.To = d.rec.Relative(effect.From), d.rec.Relative(effect.To)
	d.rec.Record(history.Event{Type: history.Fault, Client: client, Fault: &info})
}

// kill ends a client's process. The beginning is recorded first, so that a judge knows what ended it, whatever the client's own
// goroutine records meanwhile.
func (d *director) kill(ctx context.Context, f *aimed, client int32, grant int64, info history.FaultInfo) error {
	d.mu.Lock()
	d.killed[client] = f.plan.For.Std()
	if slices.Contains(d.holding[client], grant) {
		info.Holding = grant
	}
	delete(d.holding, client)
	proc := d.procs[client]
	d.mu.Unlock()
	d.rec.Record(history.Event{Type: history.Fault, Client: client, Fault: &info})
	effect, err := nemesis.Kill(ctx, proc)
	if err != nil {
		return err
	}
	d.end(info, client, effect, effect.Bit)
	d.mu.Lock()
	d.letGo(f, client)
	d.mu.Unlock()
	f.over <- nil
	return nil
}

// stillHolding returns the grant if the client holds it now that it is stopped, else 0: struck at a random moment, it may have begun its
// release before the stop took effect, and such a fault met no holder.
func (d *director) stillHolding(client int32, grant int64) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Contains(d.holding[client], grant) {
		return 0
	}
	return grant
}

// death tells whether a fault has killed the client, and how long it is to stay away.
func (d *director) death(client int32) (away time.Duration, dead bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	away, dead = d.killed[client]
	return away, dead
}

// replaced is told that a fresh process has taken the killed client's place.
func (d *director) replaced(client int32, fresh *workerProcess) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.killed, client)
	d.procs[client], d.apps[client] = fresh.proc, fresh.client
}

// settled waits until no fault has the client in its grip.
func (d *director) settled(ctx context.Context, client int32) error {
	for {
		d.mu.Lock()
		struck := d.struck[client]
		d.mu.Unlock()
		if !struck {
			return nil
		}
		if !pause(ctx, nil, turnStep) {
			return context.Cause(ctx)
		}
	}
}

// stalled is told that a client's heartbeat was late. What is left after taking away the injected pauses was the
// machine's own doing, and is recorded as a fault that nobody injected.
func (d *director) stalled(client int32, from, to int64, late time.Duration) {
	d.mu.Lock()
	from, to = unexplained(from, to, d.spans, client)
	if to-from <= int64(late) {
		d.mu.Unlock()
		return
	}
	info := history.FaultInfo{ID: d.ids.nextFault(), Kind: "stall", Phase: "begin", Clients: []int32{client}, From: from}
	d.mu.Unlock()
	begin := info
	d.rec.Record(history.Event{Type: history.Fault, Client: client, Fault: &begin})
	info.Phase, info.To, info.Bit = "end", to, true
	info.Evidence = fmt.Sprintf("the worker's heartbeat was %v late, and no pause was injected", time.Duration(to-from).Round(time.Millisecond))
	d.rec.Record(history.Event{Type: history.Fault, Client: client, Fault: &info})
}
