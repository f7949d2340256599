package spill

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// item is at a place, and has a number.
type item struct {
	at int64
	n  int32
}

func (a item) compare(b item) int { return cmp.Compare(a.at, b.at) }

// A sorter puts items in order as one sort of them all does, whatever its room,
// and as often as it is asked.
func TestSorter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, room := range []Room{UsualRoom, {Run: 1}, {Run: 16 * 100}} {
		for _, n := range []int{0, 1, 100, 5000} {
			for _, near := range []int64{1, 50, 1 << 40} { // how far from its place an item may be
				s := NewSorter(room, item.compare)
				want := make([]item, n)
				for i := range want {
					want[i] = item{int64(i)/4 + r.Int64N(near), int32(i)}
					s.Add(want[i])
				}
				slices.SortStableFunc(want, item.compare)
				for range 2 {
					got, in := []item{}, s.InOrder()
					for m := in.Next(); m != nil; m = in.Next() {
						got = append(got, *m)
					}
					if !slices.Equal(got, want) {
						t.Errorf("%d items, room for %d bytes: not in order", n, room.Run)
					}
				}
				s.Close()
			}
		}
	}
}

// A list keeps what is written to it, whatever its room.
func TestPaged(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	l, want := NewList[int64](Room{Page: 4, Pages: 2}), []int64{}
	for range 10_000 {
		if i := r.IntN(2 * (len(want) + 1)); i < len(want) {
			*l.At(int32(i)) = int64(i) * 7
			want[i] = int64(i) * 7
		} else {
			l.Add(int64(i))
			want = append(want, int64(i))
		}
		if l.Trim(); len(l.loaded) > 2 {
			t.Fatalf("%d pages in memory", len(l.loaded))
		}
	}
	l.Scan(func(i int32, x *int64) {
		if *x != want[i] {
			t.Errorf("item %d is %d, want %d", i, *x, want[i])
		}
	})
	for i := range l.Each(0, l.Length) {
		if x := *l.See(i); x != want[i] {
			t.Errorf("item %d is %d, want %d", i, x, want[i])
		}
	}
	l.Close()
}
