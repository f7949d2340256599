package history

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestAppendInt: numbers look as strconv writes them, at every length, and
// whether or not there is room.
func TestAppendInt(t *testing.T) {
	numbers := []int64{0, 1, 9, math.MaxInt64, math.MinInt64, -1}
	for p := int64(10); p < math.MaxInt64/10; p *= 10 {
		numbers = append(numbers, p-1, p, p+1, -p)
	}
	for shift := range 63 {
		numbers = append(numbers, 1<<shift-1, 1<<shift)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		numbers = append(numbers, r.Int64()>>r.IntN(63))
	}
	for _, v := range numbers {
		want := "x" + strconv.FormatInt(v, 10)
		for _, room := range []int{1, 10, 64} {
			if got := string(appendInt(append(make([]byte, 0, room), 'x'), v)); got != want {
				t.Fatalf("%d with room for %d: %q", v, room, got)
			}
		}
	}
}
