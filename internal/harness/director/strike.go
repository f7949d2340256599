package director

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/nemesis"
)

// strike injects what was taken, and records that. What lasts goes on when it
// returns, and is healed after the planned time; then others may strike the victims.
func (d *Director) strike(ctx context.Context, a *activeStrike) error {
	err := d.injectAll(ctx, a)
	close(a.begun)
	if errors.Is(err, errLaid) {
		return nil // it strikes alone, and is a fault from its packet on
	}
	if err != nil {
		d.abandon(a)
	}
	d.over(a, err)
	return err
}

func (d *Director) injectAll(ctx context.Context, a *activeStrike) error {
	for _, p := range a.strike.Parts {
		in, err := d.inject(ctx, a, p)
		if errors.Is(err, nemesis.ErrMissed) {
			continue // what strikes together with it does not wait for it; if all missed, it is tried again
		}
		if err != nil {
			return err
		}
		if in != nil {
			a.active = append(a.active, in)
			d.mu.Lock()
			a.left++
			d.mu.Unlock()
			d.healLater(ctx, a, in)
		}
	}
	return nil
}

// over notes that one of the faults that strike together is over, and finishes with the last one.
func (d *Director) over(a *activeStrike, err error) {
	d.mu.Lock()
	a.left--
	a.failed = errors.Join(a.failed, err)
	last := a.left == 0
	d.mu.Unlock()
	if last {
		d.finish(a, a.failed)
	}
}

// finish lets the victims go, and tells how it went.
func (d *Director) finish(a *activeStrike, err error) {
	d.mu.Lock()
	d.release(a)
	now := d.set.Time.Now()
	over := now + (now - a.taken) // what it held back is sent again later and later
	d.undisturbed = max(d.undisturbed, over)
	if !a.strike.Target.Client() {
		d.wholeAt = max(d.wholeAt, over)
	}
	d.mu.Unlock()
	a.over <- err
	a.wake()
	if d.set.Freed != nil {
		d.set.Freed()
	}
}

// errLaid says that a trap waits for its packet, and that its end will be seen to.
var errLaid = errors.New("a trap is laid")

// NotInjected is the evidence of a fault whose injection failed after its
// beginning was recorded, as of a run that is interrupted just then.
const NotInjected = "it was not injected"

// inject puts one fault of a strike into effect and records that; nil: it is over already.
//
// The beginning is recorded first, unless the setting says otherwise, because a fault may
// bite before it is proven. On a busy machine a client stands still half a second before the
// last of its threads is seen stopped. What may never happen is recorded when it has.
func (d *Director) inject(ctx context.Context, a *activeStrike, p nemesis.Part) (*activeFault, error) {
	info := history.FaultInfo{ID: d.set.IDs.NextFault(), Plan: p.Place, Kind: p.Kind, Phase: "begin",
		Target: string(p.Target), When: string(p.When), Injected: true}
	wrong := func(err error) error { return fmt.Errorf("fault %d: %w", info.ID, err) }
	p, err := d.resolveRole(ctx, a, p)
	if err != nil {
		return nil, wrong(err)
	}
	v, err := d.victims(a, p.Target)
	if err != nil {
		return nil, wrong(err)
	}
	info.Hosts = v.Names()
	touched(&info, p.Spec, d.touches(p.Spec, a.clients()))
	p = a.inTurn(p)
	if p.Kills() && !p.Ousts() && !p.Waits() {
		if err := d.kill(ctx, a, p, v, info); err != nil {
			return nil, wrong(err)
		}
		return nil, nil
	}
	in := &activeFault{part: p, info: info, client: sole(a.clients()), spans: d.expectStalls(a, p),
		done: make(chan struct{})}
	first := sure(p) && !d.set.RecordsLate
	if first {
		d.set.Recorder.Record(history.Event{Type: history.Fault, Client: in.client, Fault: &info})
	}
	spare := func() {}
	if p.Ousts() {
		// before it is: what it does from then on is no client's any more
		spare = d.markKilled(a, p)
	}
	if in.InEffect, err = d.effect(ctx, a, p, info.ID, v); err != nil {
		spare()
		if first {
			now := d.set.Time.Now() // it was certainly in effect at no time
			d.end(in.info, in.client, nemesis.Effect{From: now, To: now, Proof: NotInjected}, false)
		}
		return nil, wrong(err)
	}
	in.info.Holding, in.info.Waiting = d.heldByVictims(a)
	if found, ok := in.InEffect.(nemesis.GrantFinder); ok {
		in.info.Holding = found.Holding()
	}
	if trap, waits := in.InEffect.(nemesis.Pending); waits {
		d.lay(ctx, a, in, trap)
		return nil, errLaid
	}
	if !first {
		d.begin(in)
	}
	return in, nil
}

// sure reports whether a fault certainly strikes, and at once.
func sure(p nemesis.Part) bool { return !p.Waits() && !p.MayMiss() }

// expectStalls notes that from now on late heartbeats of the clients are the fault's doing,
// if it is of that kind. It returns the places in spans where the end is to be noted.
func (d *Director) expectStalls(a *activeStrike, p nemesis.Part) (places []int) {
	if !p.Stops() && !p.OnClocks() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range a.clients() {
		places = append(places, len(d.spans))
		d.spans = append(d.spans, span{client: c, from: d.set.Recorder.Now(), frozen: p.Freezes()})
	}
	return places
}

// kill ends clients' processes. The beginning is recorded first, so that a judge
// knows what ended them, whatever the clients' own goroutines record meanwhile.
func (d *Director) kill(ctx context.Context, a *activeStrike, p nemesis.Part, v nemesis.Victims, info history.FaultInfo) error {
	info.Holding, info.Waiting = d.heldByVictims(a)
	d.markKilled(a, p)
	d.set.Recorder.Record(history.Event{Type: history.Fault, Client: sole(info.Clients), Fault: &info})
	gone, err := d.effect(ctx, a, p, info.ID, v)
	if err != nil {
		return err
	}
	effect, err := gone.Heal()
	d.end(info, sole(info.Clients), effect, effect.Bit)
	return err
}

// markKilled notes that the clients are killed, before they are; spare takes it back.
func (d *Director) markKilled(a *activeStrike, p nemesis.Part) (spare func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.holders
	for _, c := range a.clients() {
		d.killed[c] = Absence{Away: p.For, InOrder: p.InOrder()}
		d.holders = slices.DeleteFunc(slices.Clone(d.holders), func(a nemesis.Holding) bool { return a.Client == c })
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, c := range a.clients() {
			delete(d.killed, c)
		}
		for _, held := range before {
			if slices.Contains(a.clients(), held.Client) {
				d.holders = append(d.holders, held)
			}
		}
	}
}

// touches are the clients to whom a fault is done that is aimed at some: of one
// of a node of the cluster, all that are there.
func (d *Director) touches(s nemesis.Spec, clients []int32) (all []int32) {
	if !s.OfNode() {
		return clients
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := int32(1); c <= d.clients; c++ {
		if _, dead := d.killed[c]; !dead && slices.ContainsFunc(clients,
			func(struck int32) bool { return d.far[c].Far == d.far[struck].Far }) {
			all = append(all, c)
		}
	}
	return all
}
