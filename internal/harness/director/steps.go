package director

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/nemesis"
)

// Reached is called by a client at every step. A fault whose aim fits is in effect when it returns.
func (d *Director) Reached(ctx context.Context, s nemesis.Step) error {
	a := d.takeDue(s)
	if a == nil {
		return nil
	}
	defer d.heldUp(s.Client, d.set.Recorder.Now(), a.strike)
	return d.strikeBy(ctx, a, s.Client)
}

// heldUp records that a client's application has stood still since from, if that was long: it
// waited until a fault had struck, or had missed. That is the harness's doing, and may cost a
// client its lease. A fault that can't miss is recorded before it strikes, and says so itself.
func (d *Director) heldUp(client int32, from int64, s nemesis.Strike) {
	i := slices.IndexFunc(s.Parts, nemesis.Part.MayMiss)
	to := d.set.Recorder.Now()
	if i < 0 || time.Duration(to-from) < d.ttl/10 {
		return
	}
	seen := fmt.Sprintf("client-%d: its application waited %v for the end of the injection of %s", client,
		time.Duration(to-from).Round(time.Millisecond), s.Parts[i].Kind)
	d.RecordStall(history.FaultInfo{From: from, To: to, Injected: true, Evidence: seen}, client)
}

// strikeBy strikes on a client's goroutine, and tells the client whether that was its own end.
func (d *Director) strikeBy(ctx context.Context, a *activeStrike, client int32) error {
	if err := d.strike(ctx, a); err != nil {
		return err
	}
	if d.Dead(client) {
		return wire.ErrKilled
	}
	return nil
}

// takeDue takes the fault that strikes at the step; nil: none does.
func (d *Director) takeDue(s nemesis.Step) *activeStrike {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.faults {
		if !f.armed || !f.strike.Strikes(s) || !d.means(f, s) {
			continue
		}
		if a := d.take(f, s); a != nil {
			return a
		}
	}
	return nil
}

// means reports whether a fault that was armed with a grant strikes at the
// step: at one of that grant, as long as it is held. The caller holds the lock.
func (d *Director) means(f *plannedFault, s nemesis.Step) bool {
	if f.only == 0 || s.Moment == nemesis.Acquiring || s.Grant == f.only {
		return true
	}
	return !slices.ContainsFunc(d.holders, func(a nemesis.Holding) bool { return a.Grant == f.only })
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
	a := d.takeDue(s)
	if a == nil {
		return func() error { return nil }
	}
	if a.strike.Parts[0].Waits() { // for the call that is about to be sent
		err := d.strikeBy(ctx, a, s.Client)
		return func() error { return err }
	}
	strike := a.strike // the next one may be planned by the time of the answer
	struck := make(chan error, 1)
	stop := d.set.Time.After(ctx, nemesis.Delay(a.delays, longest), func(whole bool) {
		if !whole {
			d.putBack(a)
			struck <- nil
			return
		}
		struck <- d.strikeBy(ctx, a, s.Client)
	})
	return func() error {
		if stop() {
			d.putBack(a)
			return nil
		}
		defer d.heldUp(s.Client, d.set.Recorder.Now(), strike)
		return <-struck
	}
}

// strikeNow strikes at once, if the armed fault's victims can be had.
func (d *Director) strikeNow(ctx context.Context, f *plannedFault) error {
	d.mu.Lock()
	a := d.take(f, nemesis.Step{Moment: nemesis.Random, Grant: f.only})
	d.mu.Unlock()
	if a == nil {
		return nil
	}
	return d.strike(ctx, a)
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
	var due []dueFault
	for _, f := range d.faults {
		now := f.awaits != 0 && f.awaits <= d.granted
		if now {
			f.armed, f.awaits, f.only = true, 0, grant
		}
		if f.armed && f.strike.When == nemesis.Random && (now || f.strike.Target == nemesis.Holder) {
			due = append(due, dueFault{f, f.strike, now})
		}
	}
	d.mu.Unlock()
	for _, f := range due {
		from := d.set.Recorder.Now()
		err := d.strikeNow(ctx, f.plannedFault)
		if d.heldUp(client, from, f.strike); err != nil {
			return err
		}
		if f.now && d.armed(f.plannedFault) {
			f.wake() // another fault has whom it is aimed at: from now on it looks again and again
		}
	}
	return nil
}

// dueFault is a fault that may strike with a grant; now: it waited for that one.
type dueFault struct {
	*plannedFault
	strike nemesis.Strike // the next one may be planned meanwhile
	now    bool
}

// Releases notes that a client does not hold the grant any more, as far as it knows.
func (d *Director) Releases(grant int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holders = slices.DeleteFunc(d.holders, func(a nemesis.Holding) bool { return a.Grant == grant })
}
