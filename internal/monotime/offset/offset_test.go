package offset

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// Whatever the offset, the drift and the shares of the two ways: the bound holds
// through all the time, and is no wider than the trips and the drift explain.
func TestBoundHolds(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		offset := rng.Int64N(400e6) - 200e6
		drift := (rng.Float64()*2 - 1) * 500e-6
		at := func(now int64) int64 { return offset + int64(drift*float64(now)) }
		var c Comparison
		shortest := int64(2e6)
		for now := int64(0); now < int64(time.Minute); now += int64(500 * time.Millisecond) {
			there, back := rng.Int64N(50e6), rng.Int64N(50e6)
			if rng.IntN(4) == 0 {
				there, back = rng.Int64N(shortest), rng.Int64N(shortest)
			}
			read := now + there
			c.Add(now, read+at(read), read+back)
		}
		ahead, bound, err := c.Ahead()
		if err != nil {
			t.Fatal(err)
		}
		for now := int64(0); now < int64(time.Minute); now += int64(time.Second) {
			if wrong := at(now) - ahead; wrong > bound || wrong < -bound {
				t.Fatalf("seed %d: at %v the clock was %v ahead, and %v ± %v was said", seed, time.Duration(now),
					time.Duration(at(now)), time.Duration(ahead), time.Duration(bound))
			}
		}
		if bound > int64(80e6) {
			t.Errorf("seed %d: ± %v says nothing", seed, time.Duration(bound))
		}
	}
}

// Short trips count: a long one beside them changes nothing.
func TestShortTripsCount(t *testing.T) {
	var c Comparison
	if _, _, err := c.Ahead(); !errors.Is(err, ErrUnknown) {
		t.Errorf("without a trip: %v", err)
	}
	const ms = int64(time.Millisecond)
	c.Add(0, 200*ms, 400*ms)
	c.Add(500*ms, 700*ms+ms/2, 501*ms)
	if ahead, bound, _ := c.Ahead(); ahead != 200*ms || bound != ms/2+5*ms {
		t.Errorf("%v ± %v", time.Duration(ahead), time.Duration(bound))
	}
	// What was not compared for long may have drifted for long.
	c.Add(60_500*ms, 60_700*ms+ms/2, 60_501*ms)
	if _, bound, _ := c.Ahead(); bound != ms/2+60*ms {
		t.Errorf("after a minute: ± %v", time.Duration(bound))
	}
}
