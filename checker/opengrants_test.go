package checker

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestOpenGrants compares the list of open grants with a plain one, also while
// it is gone through, and where it says that the first hold begins.
func TestOpenGrants(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 23))
		var o openGrants
		var list []*grant
		leave := func(g *grant) {
			g.settled = true
			o.remove(g)
			i := slices.Index(list, g)
			list = slices.Delete(list, i, i+1)
			if rng.IntN(2) == 0 { // its record is used again
				*g = grant{id: -1}
			}
		}
		for id := range int64(1200) {
			switch chance := rng.IntN(8); {
			case chance < 3+int(seed%3) && len(list) < 3*fewOpen:
				g := &grant{id: id, begin: rng.Int64N(1000)}
				if seed%4 == 1 { // in order, until one of them is said to begin earlier
					g.begin = id
				}
				o.add(g)
				list = append(list, g)
			case chance == 7 && len(list) > 0:
				g := list[rng.IntN(len(list))]
				g.begin -= rng.Int64N(100)
				o.starts(g)
			case chance == 6 && seed%5 == 0:
				for g := range o.all {
					if rng.IntN(2) == 0 {
						leave(g)
					}
				}
			case len(list) > 0:
				leave(list[rng.IntN(len(list))])
			}
			earliest := int64(forever)
			for _, g := range list {
				earliest = min(earliest, g.begin)
			}
			var oldest *grant
			if len(list) > 0 {
				oldest = list[0]
			}
			backward := slices.Collect(o.newestFirst)
			slices.Reverse(backward)
			if got := slices.Collect(o.all); !slices.Equal(got, list) || !slices.Equal(backward, list) ||
				o.first() != oldest || o.earliest() != earliest {
				t.Fatalf("seed %d: %v, the first %v, from %d; want %v from %d", seed, got, o.first(), o.earliest(), list, earliest)
			}
		}
		if len(o.list) > 2*len(list)+6*fewOpen+32 {
			t.Fatalf("seed %d: room for %d, and %d are there", seed, len(o.list), len(list))
		}
	}
}
