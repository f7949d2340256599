package director

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/nemesis"
)

// hit is a strike that was taken: whom it has in its grip, and at which step.
type hit struct {
	*aimed
	victims []nemesis.Victim // clients; none: nodes
	nodes   []string         // those that were chosen
	leader  string           // whom the service named, if it was asked
	at      nemesis.Step
	taken   time.Time

	begun  chan struct{} // closed when all that strikes together has begun
	active []*inForce    // what has; complete when begun is closed
	// left is how many of them are not over, and 1 more until all have begun or a trap has struck;
	// failed is what went wrong with them. The director's lock guards both.
	left   int
	failed error
}

// clients are the numbers of the victims.
func (h *hit) clients() (all []int32) {
	for _, v := range h.victims {
		all = append(all, v.Client)
	}
	return all
}

// scene is what is known of the clients. The caller holds the lock.
func (d *Director) scene() nemesis.Scene {
	s := nemesis.Scene{Holders: d.holders, Waiters: d.waiters, Selves: maps.Clone(d.selves)}
	for c := int32(1); c <= d.clients; c++ {
		if _, dead := d.killed[c]; !dead && !d.struck[c] {
			s.Free = append(s.Free, c)
		}
	}
	return s
}

// take takes an armed fault for a strike, with whomever it means at the step in
// its grip; nil: it can't have them. The caller holds the lock.
func (d *Director) take(f *aimed, at nemesis.Step) *hit {
	if !f.armed || d.hushed {
		return nil
	}
	h := &hit{aimed: f, at: at, taken: time.Now(), begun: make(chan struct{}), left: 1}
	if f.strike.Target.Client() {
		if h.victims = f.strike.Target.Clients(d.scene(), at, f.draws); len(h.victims) == 0 {
			return nil
		}
		for _, c := range h.clients() {
			d.struck[c] = true
		}
	} else {
		if d.down {
			return nil
		}
		d.down = true
	}
	f.armed = false
	return h
}

// putBack arms a fault again that was taken and has not struck.
func (d *Director) putBack(h *hit) {
	d.mu.Lock()
	d.letGo(h)
	if h.retired {
		h.over <- nil
	} else {
		h.armed = true
	}
	d.mu.Unlock()
	h.wake()
}

// letGo ends a fault's grip. The caller holds the lock.
func (d *Director) letGo(h *hit) {
	if !h.strike.Target.Client() {
		d.down = false
	}
	for _, c := range h.clients() {
		delete(d.struck, c)
	}
}

// Reached is called by a client at every step. A fault whose aim fits is in effect when it returns.
func (d *Director) Reached(ctx context.Context, s nemesis.Step) error {
	h := d.taken(s)
	if h == nil {
		return nil
	}
	defer d.heldUp(s.Client, d.rec.Now(), h.strike)
	return d.strikeBy(ctx, h, s.Client)
}

// heldUp records that a client's application has stood still since from, if that was long: it
// waited until a fault had struck, or had missed. That is the harness's doing, and may cost a
// client its lease. A fault that can't miss is recorded before it strikes, and says so itself.
func (d *Director) heldUp(client int32, from int64, s nemesis.Strike) {
	i := slices.IndexFunc(s.Parts, nemesis.Part.MayMiss)
	to := d.rec.Now()
	if i < 0 || time.Duration(to-from) < d.ttl/10 {
		return
	}
	seen := fmt.Sprintf("client-%d: its application waited %v for the end of the injection of %s", client,
		time.Duration(to-from).Round(time.Millisecond), s.Parts[i].Kind)
	d.RecordStall(history.FaultInfo{From: from, To: to, Injected: true, Evidence: seen}, client)
}

// strikeBy strikes on a client's goroutine, and tells the client whether that was its own end.
func (d *Director) strikeBy(ctx context.Context, h *hit, client int32) error {
	if err := d.strike(ctx, h); err != nil {
		return err
	}
	if d.Dead(client) {
		return wire.ErrKilled
	}
	return nil
}

// taken takes the fault that strikes at the step; nil: none does.
func (d *Director) taken(s nemesis.Step) *hit {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.faults {
		if !f.armed || !f.strike.Strikes(s) || !d.means(f, s) {
			continue
		}
		if h := d.take(f, s); h != nil {
			return h
		}
	}
	return nil
}

// means reports whether a fault that was armed with a grant strikes at the
// step: at one of that grant, as long as it is held. The caller holds the lock.
func (d *Director) means(f *aimed, s nemesis.Step) bool {
	if f.only == 0 || s.Moment == nemesis.Acquiring || s.Grant == f.only {
		return true
	}
	return !slices.ContainsFunc(d.holders, func(h nemesis.Holding) bool { return h.Grant == f.only })
}

// renewalShare is the part of the TTL up to which a fault into a renewal waits:
// a renewal waits for nobody, and is answered soon.
const renewalShare = 100

// Acquiring is called by a client right before it sends an acquire, and what it
// returns when the answer has come (see underway).
func (d *Director) Acquiring(ctx context.Context, client int32, key string) (answered func() error) {
	d.mu.Lock()
	d.waiters = append(d.waiters, nemesis.Waiting{Client: client, Key: key})
	d.mu.Unlock()
	struck := d.underway(ctx, nemesis.Step{Moment: nemesis.Acquiring, Client: client, Key: key}, d.ttl)
	return func() error {
		d.mu.Lock()
		d.waiters = slices.DeleteFunc(d.waiters, func(w nemesis.Waiting) bool { return w.Client == client })
		d.mu.Unlock()
		return struck()
	}
}

// Renewing is called by a client right before it sends a renewal, and what it
// returns when the answer has come (see underway).
func (d *Director) Renewing(ctx context.Context, client int32, key string, grant int64) (answered func() error) {
	return d.underway(ctx, nemesis.Step{Moment: nemesis.WhileRenewing, Client: client, Grant: grant, Key: key},
		d.ttl/renewalShare)
}

// underway is called by a client right before it sends a call. A fault aimed into the call strikes
// a while later, at the longest after longest, if the answer has not come by then. The client
// calls answered when it has; a fault that strikes just then is in effect when that returns.
func (d *Director) underway(ctx context.Context, s nemesis.Step, longest time.Duration) (answered func() error) {
	h := d.taken(s)
	if h == nil {
		return func() error { return nil }
	}
	if h.strike.Parts[0].Waits() { // for the call that is about to be sent
		err := d.strikeBy(ctx, h, s.Client)
		return func() error { return err }
	}
	strike := h.strike // the next one may be planned by the time of the answer
	struck := make(chan error, 1)
	stop := d.time.After(ctx, nemesis.Delay(h.delays, longest), func(whole bool) {
		if !whole {
			d.putBack(h)
			struck <- nil
			return
		}
		struck <- d.strikeBy(ctx, h, s.Client)
	})
	return func() error {
		if stop() {
			d.putBack(h)
			return nil
		}
		defer d.heldUp(s.Client, d.rec.Now(), strike)
		return <-struck
	}
}

// strikeNow strikes at once, if whoever the armed fault is aimed at can be had.
func (d *Director) strikeNow(ctx context.Context, f *aimed) error {
	d.mu.Lock()
	h := d.take(f, nemesis.Step{Moment: nemesis.Random, Grant: f.only})
	d.mu.Unlock()
	if h == nil {
		return nil
	}
	return d.strike(ctx, h)
}

// Holds notes what a client holds. A fault that has been waiting for a holder,
// or for this grant, strikes.
func (d *Director) Holds(ctx context.Context, client int32, key string, grant int64) error {
	d.mu.Lock()
	if _, dead := d.killed[client]; dead {
		d.mu.Unlock()
		return wire.ErrKilled
	}
	d.holders = append(d.holders, nemesis.Holding{Client: client, Grant: grant, Key: key})
	d.granted++
	var due []cued
	for _, f := range d.faults {
		now := f.awaits != 0 && f.awaits <= d.granted
		if now {
			f.armed, f.awaits, f.only = true, 0, grant
		}
		if f.armed && f.strike.When == nemesis.Random && (now || f.strike.Target == nemesis.Holder) {
			due = append(due, cued{f, f.strike, now})
		}
	}
	d.mu.Unlock()
	for _, f := range due {
		from := d.rec.Now()
		err := d.strikeNow(ctx, f.aimed)
		if d.heldUp(client, from, f.strike); err != nil {
			return err
		}
		if f.now && d.armed(f.aimed) {
			f.wake() // another fault has whom it is aimed at: from now on it looks again and again
		}
	}
	return nil
}

// cued is a fault that may strike with a grant; now: it waited for that one.
type cued struct {
	*aimed
	strike nemesis.Strike // the next one may be planned meanwhile
	now    bool
}

// Releases notes that a client does not hold the grant any more, as far as it knows.
func (d *Director) Releases(grant int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holders = slices.DeleteFunc(d.holders, func(h nemesis.Holding) bool { return h.Grant == grant })
}
