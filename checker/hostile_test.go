package checker

import (
	"math"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/history"
)

// atOnce is a history whose n grants, and all that is done under them, have one stamp.
func atOnce(n int) *tape {
	t := newTape(1, 10)
	t.step = 0
	for i := range n {
		t.take(i%10+1, 0)
		g := t.events[len(t.events)-1].Grant
		t.ok(t.invoke(history.Read, i%10+1, 0, g))
		t.giveBack(i%10+1, 0, g)
	}
	for i := range t.events {
		if e := &t.events[i]; e.Type == history.OK {
			e.Start, e.End, e.Attempt, e.First, e.Enqueued = t.now, t.now, 0, 0, 0
		}
	}
	return t
}

// TestHostileEqualStamps: where nothing can be told apart, a judge does not compare each
// grant with each other. What an event costs is measured, so that a busy machine fails no
// test: eight times as many may cost thirty times as much, where the square would be 64.
func TestHostileEqualStamps(t *testing.T) {
	for _, tokens := range []string{"none", "fencing"} {
		cost := func(n int) time.Duration {
			tape := atOnce(n)
			tape.header.Claims.Token = tokens
			least := time.Duration(math.MaxInt64)
			for range 3 {
				s := New(tape.header, tape.keys, Options{})
				start := used()
				for i := range tape.events {
					s.Add(&tape.events[i])
				}
				s.Finish(false)
				least = min(least, used()-start)
			}
			return least
		}
		few, many := cost(1000), cost(8000)
		t.Logf("%s: %v, %v", tokens, few, many)
		if many > 30*few+50*time.Millisecond {
			t.Errorf("tokens %s: 1,000 grants took %v, 8,000 took %v", tokens, few, many)
		}
	}
}

// TestHostileClients: a header that no reader has checked may say any number of clients.
func TestHostileClients(t *testing.T) {
	for _, n := range []int{math.MaxInt, 1 << 62, -1, math.MinInt} {
		tape := newTape(1, 2)
		tape.header.Claims.Fair = true
		tape.header.Clients = n
		wait := tape.invoke(history.Acquire, 2, 0, 0)
		for range 3 {
			tape.giveBack(1, 0, tape.take(1, 0))
		}
		tape.ok(wait)
		s := New(tape.header, tape.keys, Options{})
		for i := range tape.events {
			s.Add(&tape.events[i])
		}
		s.Finish(false)
	}
}
