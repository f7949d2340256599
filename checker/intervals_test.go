package checker

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLasting: it finds what looking at each of them finds.
func TestLasting(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2_000 {
		all := make([][2]int64, rng.IntN(12))
		for i := range all {
			from := rng.Int64N(30)
			all[i] = [2]int64{from, from + rng.Int64N(10)}
		}
		from := rng.Int64N(40)
		to := from + rng.Int64N(10)
		var want, got [][2]int64
		for _, x := range all {
			if x[0] <= to && x[1] >= from {
				want = append(want, x)
			}
		}
		newIntervals(all, func(x [2]int64) (int64, int64) { return x[0], x[1] }).meeting(from, to, func(x [2]int64) bool {
			got = append(got, x)
			return false
		})
		slices.SortFunc(got, func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) })
		slices.SortFunc(want, func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) })
		if !slices.Equal(got, want) {
			t.Fatalf("%v from %d to %d: %v, want %v", all, from, to, got, want)
		}
	}
}
