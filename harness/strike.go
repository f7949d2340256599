package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/harness/clock"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/monotime"
	"github.com/lockchaos/lockchaos/nemesis"
)

// strike injects what was taken, and records that. What lasts goes on when it returns, and is healed after the planned time; then the fault's
// grip ends.
func (d *director) strike(ctx context.Context, h *hit) error {
	var begun []*inForce
	for _, p := range h.strike.Parts {
		in, err := d.inject(ctx, h, p)
		if errors.Is(err, errLaid) {
			return nil // it strikes alone, and is a fault from its packet on
		}
		if errors.Is(err, nemesis.ErrMissed) { // what strikes together with it does not wait for it; if all missed, it is tried again
			continue
		}
		if err != nil {
			err = errors.Join(err, d.healAll(canceled(), begun)) // those that struck together with it
			d.finish(h, err)
			return err
		}
		if in != nil {
			begun = append(begun, in)
		}
	}
	if len(begun) == 0 {
		d.finish(h, nil)
		return nil
	}
	go func() { d.finish(h, d.healAll(ctx, begun)) }()
	return nil
}

// canceled is the context of what is not to be waited for.
func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// finish ends the fault's grip, and tells how it went.
func (d *director) finish(h *hit, err error) {
	d.mu.Lock()
	d.letGo(h)
	now := time.Now()
	calm := now.Add(now.Sub(h.taken)) // what it held back is sent again later and later
	d.calm = clock.Latest(d.calm, calm)
	if !h.strike.Target.Client() {
		d.wholeAt = clock.Latest(d.wholeAt, calm)
	}
	d.mu.Unlock()
	h.over <- err
}

// errLaid says that a trap waits for its packet, and that its end will be seen to.
var errLaid = errors.New("a trap is laid")

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

// notInjected is the evidence of a fault whose injection failed after its beginning was recorded, as of a run that is interrupted just then.
const notInjected = "it was not injected"

// inject puts one fault of a strike into effect and records that; nil: it is over already.
//
// The beginning is recorded first, because a fault may bite before it is proven. On a busy machine a client stands still
// half a second before the last of its threads is seen stopped. What may never happen is recorded when it has.
func (d *director) inject(ctx context.Context, h *hit, p nemesis.Part) (*inForce, error) {
	info := history.FaultInfo{ID: d.ids.NextFault(), Plan: p.Place, Kind: p.Kind, Phase: "begin", Target: string(p.Target), When: string(p.When), Injected: true}
	wrong := func(err error) error { return fmt.Errorf("fault %d: %w", info.ID, err) }
	p, err := d.meant(ctx, h, p)
	if err != nil {
		return nil, wrong(err)
	}
	v, err := d.victims(h, p.Target)
	if err != nil {
		return nil, wrong(err)
	}
	info.Hosts = v.Names()
	touched(&info, p.Spec, d.touches(p.Spec, h.clients()))
	p = h.inTurn(p)
	if p.Kills() && !p.Ousts() && !p.Waits() {
		if err := d.kill(ctx, h, p, v, info); err != nil {
			return nil, wrong(err)
		}
		return nil, nil
	}
	in := &inForce{part: p, info: info, client: sole(h.clients()), spans: d.expectStalls(h, p), done: make(chan struct{})}
	sure := !p.Waits() && !p.MayMiss()
	if sure {
		d.rec.Record(history.Event{Type: history.Fault, Client: in.client, Fault: &info})
	}
	spare := func() {}
	if p.Ousts() {
		spare = d.markKilled(h, p) // before it is: what it does from then on is no client's any more
	}
	if in.InEffect, err = d.effect(ctx, h, p, info.ID, v); err != nil {
		spare()
		if sure {
			now := monotime.Now() // it was certainly in effect at no time
			d.end(in.info, in.client, nemesis.Effect{From: now, To: now, Proof: notInjected}, false)
		}
		return nil, wrong(err)
	}
	in.info.Holding, in.info.Waiting = d.met(h)
	if met, ok := in.InEffect.(interface{ Met() int64 }); ok {
		in.info.Holding = met.Met()
	}
	if trap, waits := in.InEffect.(*nemesis.Trap); waits {
		d.lay(ctx, h, in, trap)
		return nil, errLaid
	}
	if !sure {
		d.begin(in)
	}
	return in, nil
}

// expectStalls notes that from now on late heartbeats of the clients are the fault's doing, if it is of that kind. It returns the places in
// spans where the end is to be noted.
func (d *director) expectStalls(h *hit, p nemesis.Part) (places []int) {
	if !p.Stops() && !p.OnClocks() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range h.clients() {
		places = append(places, len(d.spans))
		d.spans = append(d.spans, span{client: c, from: d.rec.Now(), frozen: p.Freezes()})
	}
	return places
}

// begin records the beginning of a fault that might have missed, with the time since which it is in effect.
func (d *director) begin(in *inForce) {
	info := in.info
	info.From = d.rec.Relative(in.From())
	d.rec.Record(history.Event{Type: history.Fault, Client: in.client, Fault: &info})
}

// sole is the client that alone is meant; 0: several, or none.
func sole(clients []int32) int32 {
	if len(clients) == 1 {
		return clients[0]
	}
	return 0
}

// healAll ends faults: each at its planned end, or at once when the run is cancelled. Clocks cannot be set right in processes that are stopped,
// so those wait for the end of what stops them.
func (d *director) healAll(ctx context.Context, all []*inForce) error {
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

// heal ends a fault, and records what it did.
func (d *director) heal(in *inForce) error {
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

// end records that a fault has been healed, and what it was measured to have done. It is called when all is whole again: the time
// of the event is the end of what the fault may have disturbed. bit reports whether the fault did what was planned.
func (d *director) end(info history.FaultInfo, client int32, effect nemesis.Effect, bit bool) {
	info.Phase, info.Evidence, info.Bit = "end", effect.Proof, bit
	info.From, info.To = d.rec.Relative(effect.From), d.rec.Relative(effect.To)
	if info.Bites() {
		d.ids.Bit(info.Plan)
	}
	d.rec.Record(history.Event{Type: history.Fault, Client: client, Fault: &info})
}

// kill ends clients' processes. The beginning is recorded first, so that a judge knows what ended them, whatever the clients' own
// goroutines record meanwhile.
func (d *director) kill(ctx context.Context, h *hit, p nemesis.Part, v nemesis.Struck, info history.FaultInfo) error {
	info.Holding, info.Waiting = d.met(h)
	d.markKilled(h, p)
	d.rec.Record(history.Event{Type: history.Fault, Client: sole(info.Clients), Fault: &info})
	gone, err := d.effect(ctx, h, p, info.ID, v)
	if err != nil {
		return err
	}
	effect, err := gone.Heal()
	d.end(info, sole(info.Clients), effect, effect.Bit)
	return err
}

// markKilled notes that the clients are killed, before they are; spare takes it back.
func (d *director) markKilled(h *hit, p nemesis.Part) (spare func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.holders
	for _, c := range h.clients() {
		d.killed[c] = absence{away: p.For}
		d.holders = slices.DeleteFunc(slices.Clone(d.holders), func(h nemesis.Holding) bool { return h.Client == c })
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, c := range h.clients() {
			delete(d.killed, c)
		}
		for _, held := range before {
			if slices.Contains(h.clients(), held.Client) {
				d.holders = append(d.holders, held)
			}
		}
	}
}

// joins makes a client of one that has come in the place of another: what is aimed at that by its number strikes the newcomer from now on. A place without a host, here or elsewhere, is one that has ended
// already.
func (d *director) joins(client, member int32, place nemesis.Place, proc *hosts.Process) {
	dead := place.Host == nil && place.Far == nil
	if !dead {
		d.net.Join(place)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clients = max(d.clients, client)
	d.procs[client], d.far[client], d.selves[member] = proc, place, client
	if dead {
		d.killed[client] = absence{}
	}
}

// lost notes that a client is gone, and that nobody goes on under its number.
func (d *director) lost(client int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.killed[client] = absence{}
	d.holders = slices.DeleteFunc(d.holders, func(h nemesis.Holding) bool { return h.Client == client })
}

// met tells what the victims held just now, and whether one of them waited. Struck at a random moment, a client may have begun its
// release before the fault took effect, and such a fault met no holder.
func (d *director) met(h *hit) (grant int64, waiting bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, v := range h.victims {
		held := slices.ContainsFunc(d.holders, func(o nemesis.Holding) bool { return o.Grant == v.Grant })
		if held && (grant == 0 || v.Grant < grant) {
			grant = v.Grant
		}
		waiting = waiting || slices.ContainsFunc(d.waiters, func(w nemesis.Waiting) bool { return w.Client == v.Client })
	}
	return grant, waiting
}

// death is why a client is dead, if it is.
func (d *director) death(client int32) (why absence, dead bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	why, dead = d.killed[client]
	return why, dead
}

// Dead reports whether a fault has killed the client, or an inquiry closes it.
func (d *director) Dead(client int32) bool {
	_, dead := d.death(client)
	return dead
}

// calmSince returns since when no fault has disturbed anything, and false if one does.
func (d *director) calmSince() (time.Time, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calm, !d.strikes()
}

// strikes reports whether a fault is in force. The caller holds the lock.
func (d *director) strikes() bool { return d.down || len(d.struck) > 0 }

// leaves notes that a client's application is done. It returns false if the client is to be closed, or was killed: then that comes first.
func (d *director) leaves(client int32) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, away := d.killed[client]
	d.left[client] = !away
	return !away
}

// present lists the workload's clients that are not away and whose applications have not left.
func (d *director) present() (all []int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := int32(1); c <= d.clients; c++ {
		if _, away := d.killed[c]; !away && !d.left[c] {
			all = append(all, c)
		}
	}
	return all
}

// hush keeps faults away until unhush is called. It returns false if one is in force.
func (d *director) hush() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hushed = !d.strikes()
	return d.hushed
}

func (d *director) unhush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hushed = false
}

// retire has a client closed by its application, which asks for it at each step, and returns its process; nil: its application has left.
func (d *director) retire(client int32, c *closing) *hosts.Process {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left[client] {
		return nil
	}
	d.killed[client] = absence{closing: c}
	return d.procs[client]
}

// replaced is told that a fresh process has taken the killed client's place.
func (d *director) replaced(client int32, proc *hosts.Process, app nemesis.Application) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.killed, client)
	d.procs[client], d.apps[client] = proc, app
}

// thawed waits until no fault keeps the client frozen.
func (d *director) thawed(ctx context.Context, client int32) error {
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

// settled waits until no fault has the client in its grip.
func (d *director) settled(ctx context.Context, client int32) error {
	for {
		d.mu.Lock()
		struck := d.struck[client]
		d.mu.Unlock()
		if !struck {
			return nil
		}
		if !clock.Pause(ctx, nil, turnStep) {
			return context.Cause(ctx)
		}
	}
}

// knows tells whether a client has processes, here or elsewhere.
func (d *director) knows(client int32) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.procs[client] != nil || d.far[client].Far != nil
}

// emptied waits until no process of a client lives.
func (d *director) emptied(ctx context.Context, client int32) error {
	d.mu.Lock()
	at, proc := d.far[client], d.procs[client]
	d.mu.Unlock()
	if at.Far != nil {
		return at.Far.Emptied(ctx, at.Name)
	}
	return nemesis.Emptied(ctx, proc.Host())
}

// touches are the clients to whom a fault is done that is aimed at some: of one of a node of the cluster, all that are there.
func (d *director) touches(s nemesis.Spec, clients []int32) (all []int32) {
	if !s.OfNode() {
		return clients
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := int32(1); c <= d.clients; c++ {
		if _, dead := d.killed[c]; !dead && slices.ContainsFunc(clients, func(struck int32) bool { return d.far[c].Far == d.far[struck].Far }) {
			all = append(all, c)
		}
	}
	return all
}
