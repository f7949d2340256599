package director

import (
	"golang.org/x/sync/errgroup"

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
	defer func() { err = errors.Join(err, d.net.Close()) }()
	d.stop = stop
	began := time.Now()
	var all errgroup.Group
	for _, f := range d.faults {
		all.Go(func() error { return d.cycle(ctx, stop, f, began) })
	}
	return all.Wait()
}

// cycle goes through the rounds of one fault.
func (d *Director) cycle(ctx context.Context, stop <-chan struct{}, f *aimed, began time.Time) error {
	return d.rounds(f, func() time.Duration { return time.Since(began) },
		func(t time.Duration) bool { return clock.Pause(ctx, stop, t) && !clock.Closed(stop) },
		func(grant int64) (bool, error) { return d.once(ctx, stop, f, grant) })
}

// rounds loads the strikes of one fault, each when it is due, and has it made
// once. since tells how long the workload has gone on, and wait waits; it is
// false, as once is, when the time for faults is over.
func (d *Director) rounds(f *aimed, since func() time.Duration, wait func(time.Duration) bool,
	once func(grant int64) (over bool, err error)) error {
	for round := 0; ; round++ {
		rng := f.stream(fmt.Sprintf("round %d", round))
		cue, more := f.schedule.Cue(round, rng)
		if !more {
			return nil
		}
		if cue.Timed {
			cue.Wait = cue.At - since()
		}
		for i, s := range f.program.Strikes(rng) {
			if i > 0 {
				cue = nemesis.Cue{Wait: s.After}
			}
			if !wait(cue.Wait) {
				return nil
			}
			d.load(f, s, fmt.Sprintf("round %d strike %d", round, i))
			if over, err := once(cue.Grant); !over || err != nil {
				return err
			}
		}
	}
}

// once arms the strike that is loaded, at once or with a grant, and waits until
// it is over. It is false when the time for faults is over first.
func (d *Director) once(ctx context.Context, stop <-chan struct{}, f *aimed, grant int64) (over bool, err error) {
	d.arm(f, grant)
	var look <-chan time.Time
	if f.strike.When == nemesis.Random {
		tick := time.NewTicker(turnStep)
		defer tick.Stop()
		look = tick.C
		if err := d.strikeNow(ctx, f); err != nil {
			return true, err
		}
	}
	for {
		select {
		case err := <-f.over:
			return true, err
		case <-look: // another fault may have let go of whom it is aimed at, or there is somebody now
			if err := d.strikeNow(ctx, f); err != nil {
				return true, err
			}
		case <-ctx.Done():
			return false, d.disarm(f)
		case <-stop:
			return false, d.disarm(f)
		}
	}
}

// turnStep is the pause between two looks whether a fault has let go.
const turnStep = time.Millisecond

// load makes a strike the fault's present one, with random numbers of its own:
// what one strike draws changes no other.
func (d *Director) load(f *aimed, s nemesis.Strike, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f.strike, f.draws, f.delays = s, f.stream(name), f.stream(name+" delay")
}

// arm arms a fault: now, or with a grant of that number.
func (d *Director) arm(f *aimed, grant int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f.armed, f.awaits, f.only = grant == 0, grant, 0
}

// disarm takes a fault back, or waits for the end of its strike if it has struck meanwhile.
func (d *Director) disarm(f *aimed) error {
	if d.takeBack(f) {
		return nil
	}
	return <-f.over
}

// takeBack takes a fault back, and reports whether it had not struck.
func (d *Director) takeBack(f *aimed) (waiting bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	waiting = f.armed || f.awaits != 0
	f.armed, f.awaits, f.retired = false, 0, true
	return waiting
}
