package halt

import (
	"sync/atomic"
	"time"
)

// Silence ends a program that computes for a limit of real time without a host call. A look at the
// limit's end finds whether there was one: so a call costs no timer, and a program is ended between
// one limit and two after its last call.
type Silence struct {
	limit time.Duration
	end   func()
	timer *time.Timer
	runs  atomic.Bool  // the program has its turn
	moves atomic.Int64 // turns that it was given, and host calls
	seen  atomic.Int64 // moves, when it was last looked at
}

// NewSilence calls end, on a goroutine of its own, when a program has been silent for too long.
func NewSilence(limit time.Duration, end func()) *Silence {
	s := &Silence{limit: limit, end: end}
	s.timer = time.AfterFunc(time.Hour, s.look)
	s.timer.Stop()
	return s
}

// look finds whether there was a call since it looked last.
func (s *Silence) look() {
	moves := s.moves.Load()
	switch {
	case !s.runs.Load():
	case s.seen.Swap(moves) != moves:
		s.timer.Reset(s.limit)
	default:
		s.end()
	}
}

// Turn runs the program for a turn.
func (s *Silence) Turn(run func()) {
	s.moves.Add(1)
	s.runs.Store(true)
	s.timer.Reset(s.limit)
	defer func() { s.runs.Store(false); s.timer.Stop() }()
	run()
}

// Called notes a host call.
func (s *Silence) Called() { s.moves.Add(1) }
