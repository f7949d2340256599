package nemesis

import (
	"context"
	"time"

	"github.com/lockchaos/lockchaos/internal/monotime"
)

// ClockReading is what the clocks of one process showed at one instant, less
// true time, as it stood in that process's memory.
type ClockReading struct {
	At         int64 // a monotime.Now stamp
	Host       string
	PID        int
	Wall, Mono time.Duration
	// Step is where in the fault the reading lies; "": between beginning and end.
	Step string
}

// The steps of a fault of clocks.
const (
	stepBefore = "before"
	stepBegin  = "begin"
	stepEnd    = "end"
	stepHealed = "healed"
)

// readEvery is the pause between two looks at wrong clocks. A look is a few
// system calls, and stops nothing.
const readEvery = 100 * time.Millisecond

// keptRounds is how many looks a fault keeps, however long it lasts: then every
// other two are dropped, and as many left out from there on. They go two by two,
// since a strobe shows both its times only in two looks that follow each other.
const keptRounds = 128

// readings are the looks at the clocks of a fault.
type readings struct {
	steps  []ClockReading
	rounds [][]ClockReading
	looks  int
	stride int // of how many pairs of looks one is kept
}

// Readings are what the processes' clocks showed before, through and after the
// fault, those of each process in order of time. It may be called when the fault
// has been healed. Of a fault of many processes it tells of the first few.
func (c *Clocks) Readings() (all []ClockReading) {
	all = append(all, c.readings.steps...)
	for _, round := range c.readings.rounds {
		all = append(all, round...)
	}
	return all
}

// read reads one clock; a process that has exited shows nothing.
func (c *processClock) read(step string) (r ClockReading, ok bool) {
	s, err := c.target.Now()
	return ClockReading{At: monotime.Now(), Host: c.subject.Name, PID: c.target.PID(), Wall: s.Wall.Offset,
		Mono: s.Mono.Offset, Step: step}, err == nil
}

// note reads the clocks of all processes that are told of, at a step of the fault.
func (c *Clocks) note(step string) { c.readings.steps = append(c.readings.steps, c.look(step)...) }

func (c *Clocks) look(step string) (round []ClockReading) {
	for i := range c.clocks[:min(len(c.clocks), toldClocks)] {
		if r, ok := c.clocks[i].read(step); ok {
			round = append(round, r)
		}
	}
	return round
}

// between looks at the clocks while the fault lasts.
func (c *Clocks) between() {
	r := &c.readings
	if r.stride == 0 {
		r.stride = 1
	}
	mine := r.looks/2%r.stride == 0
	r.looks++
	if !mine {
		return
	}
	r.rounds = append(r.rounds, c.look(""))
	if len(r.rounds) < keptRounds {
		return
	}
	kept := r.rounds[:0]
	for i, round := range r.rounds {
		if i/2%2 == 0 {
			kept = append(kept, round)
		}
	}
	r.rounds = kept
	r.stride *= 2
}

// watch looks at the clocks now and then until its context ends.
func (c *Clocks) watch(ctx context.Context) {
	defer close(c.watched)
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.between()
		case <-ctx.Done():
			return
		}
	}
}
