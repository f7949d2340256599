package nemesis

import (
	"math/rand/v2"
	"time"
)

// Schedule says when a planned fault is armed: again and again (Every), at
// times of the run (At), or with grants (Grants). It is data; Cue makes times
// of it, and draws whatever is random from what it is given.
type Schedule struct {
	// After is the quiet time before the first, Every the time from the end of
	// one to the arming of the next.
	After time.Duration
	Every Interval
	// At, if there are any, are the times of the run instead.
	At []Instant
	// Grants, if there are any, are the numbers of the grants instead, counted
	// over all clients from 1.
	Grants []int64
}

// Interval is a duration drawn evenly from [Min, Max].
type Interval struct{ Min, Max time.Duration }

// Instant is a time of the run, counted from the start of the workload, with a
// jitter drawn evenly from [−Jitter, Jitter].
type Instant struct{ At, Jitter time.Duration }

// Trigger is what a fault waits for until it is armed.
type Trigger struct {
	// Wait is a time from the end of the strike before or, of the first one,
	// from the start of the workload.
	Wait time.Duration
	// At is a time from the start of the workload; Timed tells that this is meant.
	At    time.Duration
	Timed bool
	// Grant is the number of a grant; 0: none is waited for.
	Grant int64
}

// Trigger returns the n-th cue, from 0; ok is false when there is none any more.
func (s Schedule) Trigger(n int, rng *rand.Rand) (cue Trigger, ok bool) {
	switch {
	case len(s.Grants) > 0:
		if n >= len(s.Grants) {
			return Trigger{}, false
		}
		return Trigger{Grant: s.Grants[n]}, true
	case len(s.At) > 0:
		if n >= len(s.At) {
			return Trigger{}, false
		}
		return Trigger{At: s.At[n].draw(rng), Timed: true}, true
	case n == 0:
		return Trigger{Wait: s.After}, true
	}
	return Trigger{Wait: s.Every.draw(rng)}, true
}

func (i Interval) draw(rng *rand.Rand) time.Duration {
	if i.Max <= i.Min {
		return i.Min
	}
	return i.Min + time.Duration(rng.Int64N(int64(i.Max-i.Min)+1))
}

// draw takes a time; none lies before the start of the run.
func (i Instant) draw(rng *rand.Rand) time.Duration {
	return max(0, Interval{i.At - i.Jitter, i.At + i.Jitter}.draw(rng))
}
