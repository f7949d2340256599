package halt

import (
	"testing"
	"time"
)

// TestSilence: a program is ended that made no host call between two looks
// while it had its turn, and no other.
func TestSilence(t *testing.T) {
	ended := 0
	s := NewSilence(time.Hour, func() { ended++ })
	looks := func(want int, when string) {
		t.Helper()
		if s.look(); ended != want {
			t.Errorf("%s: ended %d times, want %d", when, ended, want)
		}
	}
	looks(0, "before its first turn")
	s.Turn(func() {
		looks(0, "since it has its turn")
		s.Called()
		looks(0, "after a call")
		s.Called()
		looks(0, "after another call")
		looks(1, "after none")
	})
	looks(1, "while it waits")
	looks(1, "while it waits for long")
	s.Turn(func() { looks(1, "in its next turn") })
}
