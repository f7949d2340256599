package audit

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Moments tell what they were made of.
func TestMoments(t *testing.T) {
	if m := momentOf(-5, true, 1<<31-1, 1<<31-1, true); m.op() != 1<<31-1 || !m.answer() || m.at != -5 || m.compare(momentOf(-5, false, 1<<31-1, 1<<31-1, true)) < 0 {
		t.Errorf("%+v: op %d", m, m.op())
	}
}

// A sorter puts items in order as one sort of them all does, whatever its room, and as often as it is asked.
func TestSorter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, room := range []room{usualRoom, {run: 1}, {run: 16 * 100}} {
		for _, n := range []int{0, 1, 100, 5000} {
			for _, near := range []int64{1, 50, 1 << 40} { // how far from its place an item may be
				s := newSorter(room, moment.compare)
				s.compare = func(a, b moment) int { return int(max(-1, min(1, a.at-b.at))) }
				want := make([]moment, n)
				for i := range want {
					want[i] = momentOf(int64(i)/4+r.Int64N(near), false, 1, int32(i), false)
					s.add(want[i])
				}
				slices.SortStableFunc(want, s.compare)
				for range 2 {
					got, in := []moment{}, s.inOrder()
					for m := in.next(); m != nil; m = in.next() {
						got = append(got, *m)
					}
					if !slices.Equal(got, want) {
						t.Errorf("%d items, room for %d bytes: not in order", n, room.run)
					}
				}
				s.close()
			}
		}
	}
}

// A list keeps what is written to it, whatever its room.
func TestPaged(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	l, want := newPaged[int64](room{page: 4, pages: 2}), []int64{}
	for range 10_000 {
		if i := r.IntN(2 * (len(want) + 1)); i < len(want) {
			*l.at(int32(i)) = int64(i) * 7
			want[i] = int64(i) * 7
		} else {
			l.add(int64(i))
			want = append(want, int64(i))
		}
		if l.trim(); len(l.loaded) > 2 {
			t.Fatalf("%d pages in memory", len(l.loaded))
		}
	}
	l.scan(func(i int32, x *int64) {
		if *x != want[i] {
			t.Errorf("item %d is %d, want %d", i, *x, want[i])
		}
	})
	for i := range l.each(0, l.length) {
		if x := *l.see(i); x != want[i] {
			t.Errorf("item %d is %d, want %d", i, x, want[i])
		}
	}
	l.close()
}
