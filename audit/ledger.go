package audit

import (
	"cmp"
	"container/heap"
	"math"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// queue is the writes of one key in the order in which the store took them.
type queue struct {
	writes  []int32
	at      int
	version int64
}

// ledgers puts the writes of each key in order.
func (t *tracer) ledgers() (queues []queue, entries int) {
	queues = make([]queue, len(t.log.keys.list))
	if !t.log.ledgered {
		return queues, 0
	}
	for i := range t.log.ops {
		o := &t.log.ops[i]
		if o.kind == history.Write && o.grant != 0 && (o.outcome == history.OK || o.refused) {
			queues[o.key].writes = append(queues[o.key].writes, int32(i))
		}
	}
	for k := range queues {
		if t.ranked(queues[k].writes) {
			queues[k].writes = t.benign(queues[k].writes)
			entries += len(queues[k].writes)
			continue
		}
		n := len(queues[k].writes)
		queues[k].writes = t.certain(queues[k].writes)
		t.unordered += n - len(queues[k].writes)
		entries += len(queues[k].writes)
	}
	return queues, entries
}

// reads makes acts of reads: that its client took itself for the holder is all that they tell, for no log has them in the order of the store.
func (t *tracer) reads() {
	for i := range t.log.ops {
		if o := &t.log.ops[i]; o.kind == history.Read && o.act() {
			o.kind, o.outcome = history.Renew, history.Fail
		}
	}
}

// ranked tells whether the tokens of a key order its writes.
func (t *tracer) ranked(writes []int32) bool {
	if len(writes) == 0 || t.options.Tokens != "fencing" || t.broken[t.log.ops[writes[0]].key] {
		return false
	}
	return !slices.ContainsFunc(writes, func(w int32) bool { return t.log.ops[t.log.ops[w].grant-1].token == 0 })
}

// certain keeps, without tokens, the writes that are certainly before or behind every write of another grant. The others count as acts, and are in doubt.
func (t *tracer) certain(writes []int32) []int32 {
	ops, margin := t.log.ops, 2*int64(t.options.ClockError)
	slices.SortStableFunc(writes, func(a, b int32) int { return cmp.Compare(ops[a].begin(), ops[b].begin()) })
	// ended are those that began before, next is the one of another grant that begins next.
	unsure, ended, next := make([]bool, len(writes)), lastTwo{}, -1
	for i, w := range writes {
		before := ended.beside(ops[w].grant)
		unsure[i] = before != nil && before.finish()+margin >= ops[w].begin()
		ended.add(&ops[w])
	}
	for i := len(writes) - 1; i >= 0; i-- {
		w := &ops[writes[i]]
		if i+1 < len(writes) && ops[writes[i+1]].grant != w.grant {
			next = i + 1
		}
		unsure[i] = unsure[i] || next >= 0 && ops[writes[next]].begin() <= w.finish()+margin
	}
	kept := writes[:0:0]
	for i, w := range writes {
		if !unsure[i] {
			kept = append(kept, w)
		} else if o := &ops[w]; !o.late {
			o.kind, o.outcome, o.refused = history.Renew, history.Fail, false
		} else {
			o.client = 0
		}
	}
	return kept
}

// lastTwo are the writes of two different grants that ended last; nil: there is none.
type lastTwo struct{ last, second *op }

// beside is the one that ended last of those of another grant.
func (l *lastTwo) beside(grant int32) *op {
	if l.last != nil && l.last.grant == grant {
		return l.second
	}
	return l.last
}

func (l *lastTwo) add(o *op) {
	later := func(than *op) bool { return than == nil || o.finish() >= than.finish() }
	switch {
	case l.last == nil || l.last.grant == o.grant:
		if later(l.last) {
			l.last = o
		}
	case later(l.last):
		l.last, l.second = o, l.last
	case later(l.second):
		l.second = o
	}
}

// benign orders the writes of a key. Of those that the clocks can't order, the one with the smaller token comes first (without tokens, that of the
// earlier grant). So whatever still stands behind a write of a later grant stands there under every reading of the stamps: something was
// certainly before it, with a token at least as great as that of what it stands behind.
func (t *tracer) benign(writes []int32) []int32 {
	if len(writes) < 2 {
		return writes
	}
	ops, margin := t.log.ops, 2*int64(t.options.ClockError)
	byEnd := slices.Clone(writes)
	slices.SortStableFunc(writes, func(a, b int32) int { return cmp.Compare(ops[a].begin(), ops[b].begin()) })
	slices.SortStableFunc(byEnd, func(a, b int32) int { return cmp.Compare(ops[a].finish(), ops[b].finish()) })
	taken := make(map[int32]bool)
	free := ranked{of: t.rank}
	ordered := make([]int32, 0, len(writes))
	next, first := 0, 0
	for len(ordered) < len(writes) {
		for first < len(byEnd) && taken[byEnd[first]] {
			delete(taken, byEnd[first])
			first++
		}
		limit := int64(math.MaxInt64) // whatever began later than this is certainly behind another one that is still to come
		if first < len(byEnd) {
			limit = ops[byEnd[first]].finish() + margin
		}
		for next < len(writes) && ops[writes[next]].begin() <= limit {
			heap.Push(&free, writes[next])
			next++
		}
		w := heap.Pop(&free).(int32)
		taken[w] = true
		ordered = append(ordered, w)
	}
	return ordered
}

// rank is what orders writes that the clocks can't order: tokens, or the ends of the acquires, then the order of the log.
func (t *tracer) rank(i int32) (token, granted, order int64) {
	o := &t.log.ops[i]
	a := &t.log.ops[o.grant-1]
	if token = a.token; t.broken[o.key] || t.options.Tokens != "fencing" {
		token = 0
	}
	return token, a.finish(), int64(o.order)
}

// ranked is a heap of writes, the one that may come first on top.
type ranked struct {
	writes []int32
	of     func(int32) (token, granted, order int64)
}

func (r ranked) Len() int { return len(r.writes) }
func (r ranked) Less(i, j int) bool {
	t1, g1, o1 := r.of(r.writes[i])
	t2, g2, o2 := r.of(r.writes[j])
	return cmp.Or(cmp.Compare(t1, t2), cmp.Compare(g1, g2), cmp.Compare(o1, o2)) < 0
}
func (r ranked) Swap(i, j int) { r.writes[i], r.writes[j] = r.writes[j], r.writes[i] }
func (r *ranked) Push(x any)   { r.writes = append(r.writes, x.(int32)) }
func (r *ranked) Pop() any {
	x := r.writes[len(r.writes)-1]
	r.writes = r.writes[:len(r.writes)-1]
	return x
}
