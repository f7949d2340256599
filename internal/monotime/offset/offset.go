// Package offset compares the clocks of two machines by round trips, as NTP
// does (RFC 5905), and says how far its result may be wrong.
//
// Of one round trip it is certain that the other clock was read between its
// beginning and its end. So the offset lies in an interval that is as wide as the
// trip was long, whatever share of it each way took. Between two trips a clock may
// be slewed by its time service, at most by 500 parts in a million (adjtimex(2)).
package offset

import (
	"errors"
	"time"
)

// ErrUnknown says that no round trip has been made.
var ErrUnknown = errors.New("the clocks were not compared")

// Window is how much of the time one round trip stands for, the shortest in it.
const Window = 5 * time.Second

// slew is how many nanoseconds two clocks that are both slewed may come apart in a millisecond.
const slew = 1000

// Comparison are the round trips that were made to one other clock. The zero
// value is ready. It is not safe for concurrent use.
type Comparison struct {
	windows []trip
	began   int64 // of the last window
}

// trip is one round trip: the bounds of how far the other clock was ahead, and
// when it was made by ours.
type trip struct{ low, high, at int64 }

// Add notes a round trip: our clock before and after it, and what the other one
// showed in between (ns).
func (c *Comparison) Add(before, there, after int64) {
	t := trip{low: there - after, high: there - before, at: before}
	switch last := len(c.windows) - 1; {
	case last < 0 || before-c.began > int64(Window):
		c.windows, c.began = append(c.windows, t), before
	case t.high-t.low < c.windows[last].high-c.windows[last].low:
		c.windows[last] = t
	}
}

// Ahead is how far the other clock was ahead of ours (ns), through all the time from
// the first trip until the last, and by how much more or less that may have been.
func (c *Comparison) Ahead() (ahead, bound int64, err error) {
	if len(c.windows) == 0 {
		return 0, 0, ErrUnknown
	}
	low, high, gap := c.windows[0].low, c.windows[0].high, int64(Window)
	for i, t := range c.windows {
		low, high = min(low, t.low), max(high, t.high)
		if i > 0 {
			gap = max(gap, t.at-c.windows[i-1].at)
		}
	}
	ahead = low + (high-low)/2
	return ahead, max(high-ahead, ahead-low) + gap/int64(time.Millisecond)*slew, nil
}
