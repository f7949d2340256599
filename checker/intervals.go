package checker

import (
	"cmp"
	"slices"
)

// intervals are things that last for a time each, for questions about which of them a time meets.
// There is no need to look at all of them.
type intervals[T any] struct {
	all  []T
	span func(T) (from, to int64)
	most []int64 // of each of all: the latest end of those up to it
}

// newIntervals puts things into the order of their beginnings. Both ends of a span are part of it.
func newIntervals[T any](all []T, span func(T) (from, to int64)) intervals[T] {
	l := intervals[T]{slices.Clone(all), span, make([]int64, len(all))}
	slices.SortStableFunc(l.all, func(a, b T) int {
		from, _ := span(a)
		other, _ := span(b)
		return cmp.Compare(from, other)
	})
	latest := int64(-forever)
	for i, x := range l.all {
		_, to := span(x)
		latest = max(latest, to)
		l.most[i] = latest
	}
	return l
}

// meeting calls so for the things that share an instant with a time, those that began last first,
// until it returns true. It reports whether that came.
func (l intervals[T]) meeting(from, to int64, so func(T) bool) bool {
	n, _ := slices.BinarySearchFunc(l.all, to, func(x T, to int64) int {
		if begin, _ := l.span(x); begin <= to {
			return -1
		}
		return 1
	})
	for i := n - 1; i >= 0 && l.most[i] >= from; i-- {
		if _, end := l.span(l.all[i]); end >= from && so(l.all[i]) {
			return true
		}
	}
	return false
}
