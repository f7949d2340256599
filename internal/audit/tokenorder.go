package audit

import (
	"cmp"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/spill"
)

// item is a grant or a write with its token.
type item struct {
	token      history.Token
	begin, end int64
	key        int32
}

// tokenOrder holds items of all keys in two orders: by their begins and by their ends.
type tokenOrder struct {
	byBegin, byEnd *spill.Sorter[item]
	short          *tokenOrder // the same as short as coarse stamps allow; nil: no stamps are cut
}

func newTokenOrder(r spill.Room) *tokenOrder {
	return &tokenOrder{byBegin: spill.NewSorter(r, func(a, b item) int { return cmp.Compare(a.begin, b.begin) }),
		byEnd: spill.NewSorter(r, func(a, b item) int { return cmp.Compare(a.end, b.end) })}
}

func (r *tokenOrder) add(x item) {
	r.byBegin.Add(x)
	r.byEnd.Add(x)
}

func (r *tokenOrder) close() {
	r.byBegin.Close()
	r.byEnd.Close()
	if r.short != nil {
		r.short.close()
	}
}

// overtaken counts, by key, the items that began more than margin after one with
// a greater token had ended. With crossing each begins as late as it may have,
// at its end, and the others end as early as they may have, at their begins.
func (r *tokenOrder) overtaken(keys int, margin int64, crossing bool) []int {
	begins, ends := r.byBegin.InOrder(), r.byEnd.InOrder()
	begin, end := func(x *item) int64 { return x.begin }, func(x *item) int64 { return x.end }
	if crossing {
		begins, ends, begin, end = ends, begins, end, begin
	}
	n, highest := make([]int, keys), make([]history.Token, keys)
	ended := ends.Next()
	for x := begins.Next(); x != nil; x = begins.Next() {
		for ; ended != nil && end(ended)+margin < begin(x); ended = ends.Next() {
			highest[ended.key] = max(highest[ended.key], ended.token)
		}
		if x.token < highest[x.key] {
			n[x.key]++
		}
	}
	return n
}

// closer counts the items that the clocks can't put in order with an earlier one of their key,
// by the margin of the key.
func (r *tokenOrder) closer(keys int, margin func(key int32) int64) (n int) {
	last := make([]int64, keys)
	for k := range last {
		last[k] = -never / 2
	}
	in := r.byBegin.InOrder()
	for x := in.Next(); x != nil; x = in.Next() {
		if last[x.key]+margin(x.key) >= x.begin {
			n++
		}
		last[x.key] = max(last[x.key], x.end)
	}
	return n
}
