package audit

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMoments: moments are sorted alike in one piece and in halves, and tell what they were made of.
func TestMoments(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 100, fewMoments, 3*fewMoments + 1} {
		list := make([]moment, n)
		for i := range list {
			list[i] = momentOf(r.Int64N(int64(n)), r.IntN(2) == 0, r.Int32N(5), int32(i), r.IntN(2) == 0)
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, moment.compare)
		if inOrderOfTime(list); !slices.Equal(list, want) {
			t.Errorf("%d moments are not in order", n)
		}
	}
	if m := momentOf(-5, true, 1<<31-1, 1<<31-1, true); m.op() != 1<<31-1 || !m.answer() || m.at != -5 || m.compare(momentOf(-5, false, 1<<31-1, 1<<31-1, true)) < 0 {
		t.Errorf("%+v: op %d", m, m.op())
	}
}
