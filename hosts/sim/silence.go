package sim

import (
	"sync/atomic"
	"time"
)

// silence ends a program that computes for a limit of real time without a host call. A look at the
// limit's end finds whether there was one: so a call costs no timer, and a program is ended between
// one limit and two after its last call.
type silence struct {
	limit time.Duration
	timer *time.Timer
	runs  atomic.Bool  // the program has its turn
	moves atomic.Int64 // turns that it was given, and host calls
	seen  atomic.Int64 // moves, when it was last looked at
}

// newSilence calls end, on a goroutine of its own, when a program has been silent for too long.
func newSilence(limit time.Duration, end func()) *silence {
	s := &silence{limit: limit}
	s.timer = time.AfterFunc(time.Hour, func() {
		moves := s.moves.Load()
		switch {
		case !s.runs.Load():
		case s.seen.Swap(moves) != moves:
			s.timer.Reset(s.limit)
		default:
			end()
		}
	})
	s.timer.Stop()
	return s
}

// turn gives the program its turn.
func (s *silence) turn(run func()) {
	s.moves.Add(1)
	s.runs.Store(true)
	s.timer.Reset(s.limit)
	defer func() { s.runs.Store(false); s.timer.Stop() }()
	run()
}
