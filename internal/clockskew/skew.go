package clockskew

import (
	"errors"
	"fmt"
	"time"
)

// Errors that callers can tell apart with errors.Is. What is returned also
// names the process and what to do.
var (
	// ErrUnsupported: this machine, kernel or program is of a kind that the package cannot skew.
	ErrUnsupported = errors.New("not supported")
	// ErrGone: the process has exited, or runs another program by now.
	ErrGone = errors.New("has exited or runs another program")
	// ErrNotInstalled: there is nothing to set or read before Install and after Restore.
	ErrNotInstalled = errors.New("no skew is installed")
	// ErrBackward: the monotonic clock of the process would go back.
	ErrBackward = errors.New("the monotonic clock would go back")
	// ErrStopped: somebody else has stopped the process.
	ErrStopped = errors.New("is stopped already")
	// ErrUnsafe: no moment was found at which no thread stood on the bytes to change.
	ErrUnsafe = errors.New("a thread stands on the code to change")
)

// The limits of a Clock.
const (
	MinRate = 0.001
	MaxRate = 1000
	// MaxOffset bounds Offset both ways. Within it wall and monotonic time can be
	// told apart by their size, which the code that translates deadlines needs.
	MaxOffset = 20 * 365 * 24 * time.Hour
)

// Clock says what the clocks of one class show: true time plus Offset at the
// moment of setting, running Rate times as fast from then on. In what Now
// returns, Offset is the present difference from true time.
type Clock struct {
	Offset time.Duration
	Rate   float64 // MinRate to MaxRate; 0 means 1
}

// Skew is what a process reads instead of the true time. The zero value is no skew.
type Skew struct {
	// Wall is CLOCK_REALTIME with its coarse and alarm forms, CLOCK_TAI, gettimeofday and time.
	Wall Clock
	// Mono is CLOCK_MONOTONIC with its raw and coarse forms, CLOCK_BOOTTIME and
	// its alarm form. It never goes back.
	Mono Clock
}

// String gives the skew in words, such as "wall +20s, monotonic true" or "wall
// true, monotonic +1.5s at rate 5".
func (s Skew) String() string { return "wall " + s.Wall.String() + ", monotonic " + s.Mono.String() }

// String gives one clock in words, such as "+20s at rate 5".
func (c Clock) String() string {
	text := "true"
	if c.Offset != 0 {
		text = c.Offset.String()
		if c.Offset > 0 {
			text = "+" + text
		}
	}
	if r := c.rate(); r != 1 {
		text += fmt.Sprintf(" at rate %.4g", r)
	}
	return text
}

func (c Clock) rate() float64 {
	if c.Rate == 0 {
		return 1
	}
	return c.Rate
}

// check says what is wrong with a setting.
func (s Skew) check() error {
	for i, c := range []Clock{s.Wall, s.Mono} {
		name := [...]string{"wall", "monotonic"}[i]
		if r := c.rate(); !(r >= MinRate && r <= MaxRate) {
			return fmt.Errorf("%s rate %v: give %v to %v", name, r, MinRate, MaxRate)
		}
		if c.Offset < -MaxOffset || c.Offset > MaxOffset {
			return fmt.Errorf("%s offset %v: give at most %v either way", name, c.Offset, MaxOffset)
		}
	}
	return nil
}
