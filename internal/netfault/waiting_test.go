//go:build linux

package netfault

import (
	"container/heap"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Packets leave when they are due, equal dues in the order of arrival, also
// after some were taken out, which leave in the order of arrival.
func TestWaiting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w waiting
		a, b := &Diversion{}, &Diversion{}
		for i, due := range rapid.SliceOfN(rapid.Int64Range(0, 20), 0, 30).Draw(t, "dues") {
			heap.Push(&w, &pending{due: due, order: uint64(i), by: rapid.SampledFrom([]*Diversion{a, b}).Draw(t, "by")})
		}
		var stay []*pending
		for _, p := range w {
			if p.by == b {
				stay = append(stay, p)
			}
		}
		taken := w.take(func(p *pending) bool { return p.by == a })
		if !slices.IsSortedFunc(taken, func(p, q *pending) int { return int(p.order) - int(q.order) }) {
			t.Fatal("taken out of order")
		}
		slices.SortFunc(stay, func(p, q *pending) int {
			if p.due != q.due {
				return int(p.due - q.due)
			}
			return int(p.order) - int(q.order)
		})
		for _, want := range stay {
			if got := heap.Pop(&w).(*pending); got != want {
				t.Fatalf("next is %d due at %d, want %d due at %d", got.order, got.due, want.order, want.due)
			}
		}
		if len(w) > 0 {
			t.Fatalf("%d too many", len(w))
		}
	})
}
