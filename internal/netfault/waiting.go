//go:build linux

package netfault

import (
	"cmp"
	"container/heap"
	"slices"
)

// waiting is a heap of packets by the time at which they are due.
type waiting []*pending

func (w waiting) Len() int { return len(w) }
func (w waiting) Less(i, j int) bool {
	if w[i].due != w[j].due {
		return w[i].due < w[j].due
	}
	return w[i].order < w[j].order
}
func (w waiting) Swap(i, j int) { w[i], w[j] = w[j], w[i] }
func (w *waiting) Push(x any)   { *w = append(*w, x.(*pending)) }
func (w *waiting) Pop() any {
	old := *w
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*w = old[:len(old)-1]
	return last
}

// take takes those out that go, in the order of their arrival.
func (w *waiting) take(goes func(*pending) bool) (out []*pending) {
	*w = slices.DeleteFunc(*w, func(p *pending) bool {
		if goes(p) {
			out = append(out, p)
			return true
		}
		return false
	})
	heap.Init(w)
	slices.SortFunc(out, func(a, b *pending) int { return cmp.Compare(a.order, b.order) })
	return out
}
