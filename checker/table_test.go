package checker

import (
	"math/rand/v2"
	"testing"
)

// TestTable compares the table with Go's map, on keys that lie close together, far apart and in one another's way.
func TestTable(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 11))
		stride := [...]int64{1, 2, 32, 64, 1024, 1 << 40}[rng.IntN(6)]
		table, want := newTable[int64](), map[int64]*int64{}
		for range 600 {
			key := 1 + stride*rng.Int64N(int64(40+rng.IntN(300)))
			val := key
			if rng.IntN(3) == 0 {
				table.del(key)
				delete(want, key)
			} else if added := table.put(key, &val); added != (want[key] == nil) {
				t.Fatalf("seed %d: key %d was added: %v", seed, key, added)
			} else if added {
				want[key] = &val
			}
			if table.get(key) != want[key] {
				t.Fatalf("seed %d: key %d is lost or was not removed", seed, key)
			}
			if table.n != len(want) || len(table.slots) < 2*table.n || len(table.slots)&(len(table.slots)-1) != 0 || len(table.slots) > max(tableMin, 4*300) {
				t.Fatalf("seed %d: %d keys of %d in %d slots", seed, table.n, len(want), len(table.slots))
			}
		}
		for key, val := range want {
			if table.get(key) != val {
				t.Fatalf("seed %d: key %d is lost", seed, key)
			}
		}
		n := 0
		table.each(func(val *int64) {
			if n++; want[*val] != val {
				t.Fatalf("seed %d: it has %d", seed, *val)
			}
		})
		if n != len(want) {
			t.Fatalf("seed %d: %d of %d", seed, n, len(want))
		}
	}
}
