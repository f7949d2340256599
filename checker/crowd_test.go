package checker

import (
	"math/rand/v2"
	"testing"
)

// TestCrowd compares the tree with a plain list of the same times.
func TestCrowd(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 22))
		var c crowd
		var all [][2]int64
		since, now := int64(0), int64(0)
		for range 200 {
			now += rng.Int64N(4)
			from := max(since, now-rng.Int64N(10))
			to := from + rng.Int64N(10)
			c.add(from, to)
			all = append(all, [2]int64{from, max(to, from+1)})
			if rng.IntN(5) == 0 {
				since = max(since, now-15)
				c.forget(since)
			}
			most := 0
			for at := since; at <= now+12; at++ {
				n, begins := 0, false
				for _, x := range all {
					if x[0] <= at && at < x[1] {
						n++
					}
					begins = begins || x[0] == at
				}
				if begins {
					most = max(most, n)
				}
				if got, known := c.at(at); got != n || !known {
					t.Fatalf("seed %d: at %d there are %d (known: %v), want %d", seed, at, got, known, n)
				}
			}
			if got := c.most(); got < most {
				t.Fatalf("seed %d: %d at the most, want %d", seed, got, most)
			}
		}
		if len(c.steps) > 200 {
			t.Fatalf("seed %d: %d steps are remembered", seed, len(c.steps))
		}
	}
}
