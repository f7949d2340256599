package director

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/nemesis"
)

// Run arms the faults again and again until stop is closed, and returns when every strike is over.
// Its error is that of a fault that could not be injected or proven: such a run is never a pass.
func (d *Director) Run(ctx context.Context, stop <-chan struct{}) (err error) {
	// heals nothing any more, but takes the filters away
	defer func() { err = errors.Join(err, d.set.Net.Close()) }()
	ends := make(chan error, len(d.faults))
	for range d.Begin(ctx, stop, func(err error) { ends <- err }) {
		if failed := <-ends; err == nil {
			err = failed
		}
	}
	return err
}

// Begin starts the rounds of each fault of the plan, until stop is closed, and returns how many
// there are. over is called at the end of each.
func (d *Director) Begin(ctx context.Context, stop <-chan struct{}, over func(error)) int {
	d.stop = stop
	began := d.set.Time.Now()
	for _, f := range d.faults {
		d.set.Time.Go(func(w clock.Waiter) {
			f.waiter = w
			over(d.cycle(ctx, f, began))
		})
	}
	return len(d.faults)
}

// cycle goes through the rounds of one fault: it loads its strikes, each when it is due, and has
// each made once. It ends when the time for faults is over.
func (d *Director) cycle(ctx context.Context, f *plannedFault, began int64) error {
	for round := 0; ; round++ {
		rng := f.stream(fmt.Sprintf("round %d", round))
		cue, more := f.schedule.Trigger(round, rng)
		if !more {
			return nil
		}
		if cue.Timed {
			cue.Wait = cue.At - time.Duration(d.set.Time.Now()-began)
		}
		for i, s := range f.program.Strikes(rng) {
			if i > 0 {
				cue = nemesis.Trigger{Wait: s.After}
			}
			f.waiter.Await(ctx, d.stop, cue.Wait, func() bool { return false })
			if d.noMore(ctx) {
				return nil
			}
			d.load(f, s, fmt.Sprintf("round %d strike %d", round, i))
			if over, err := d.once(ctx, f, cue.Grant); !over || err != nil {
				return err
			}
		}
	}
}

// noMore reports whether the time for faults is over.
func (d *Director) noMore(ctx context.Context) bool { return ctx.Err() != nil || clock.Closed(d.stop) }

// once arms the strike that is loaded, at once or with a grant, and waits until
// it is over. It is false when the time for faults is over first.
func (d *Director) once(ctx context.Context, f *plannedFault, grant int64) (over bool, err error) {
	d.arm(f, grant)
	ended := func() bool { return len(f.over) > 0 }
	looks := func() bool { return f.strike.When == nemesis.Random && d.armed(f) }
	for !d.noMore(ctx) {
		if f.strike.When == nemesis.Random {
			if err := d.strikeNow(ctx, f); err != nil {
				return true, err
			}
		}
		if ended() {
			return true, <-f.over
		}
		if looks() { // another fault may let go of whom it is aimed at, or somebody may come
			f.waiter.Await(ctx, d.stop, turnStep, ended)
			continue
		}
		f.waiter.Await(ctx, d.stop, clock.Forever, func() bool { return ended() || looks() })
	}
	if d.takeBack(f) {
		return false, nil
	}
	// it has struck meanwhile, and heals at its end, or with the context
	f.waiter.Await(context.WithoutCancel(ctx), nil, clock.Forever, ended)
	return false, <-f.over
}

// wake has a fault's rounds look at what has become of its strike.
func (f *plannedFault) wake() {
	if f.waiter != nil {
		f.waiter.Wake()
	}
}

// turnStep is the pause between two looks whether a fault has let go.
const turnStep = time.Millisecond

// load makes a strike the fault's present one, with random numbers of its own:
// what one strike draws changes no other.
func (d *Director) load(f *plannedFault, s nemesis.Strike, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f.strike, f.draws, f.delays = s, f.stream(name), f.stream(name+" delay")
}

// arm arms a fault: now, or with a grant of that number.
func (d *Director) arm(f *plannedFault, grant int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f.armed, f.awaits, f.only = grant == 0, grant, 0
}

// armed reports whether a fault waits for whom it is aimed at.
func (d *Director) armed(f *plannedFault) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return f.armed
}

// takeBack takes a fault back, and reports whether it had not struck.
func (d *Director) takeBack(f *plannedFault) (waiting bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	waiting = f.armed || f.awaits != 0
	f.armed, f.awaits, f.retired = false, 0, true
	return waiting
}
