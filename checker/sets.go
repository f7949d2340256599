package checker

import (
	"iter"
	"slices"
)

// One call may be for several keys (history.Event.Set), which are granted all together or
// not at all. Each key has an op of its own, and is judged by it. What the answer says,
// it says of the set: see "Several keys in one acquire" in the package's documentation.

// join notes that an op was invoked, which may be one of a set.
func (bk *book) join(o *op) {
	if o.set == 0 {
		return
	}
	if first := bk.records.numbers.page(pageOf(o.set)).op(o.set); first != nil && first.set == o.set {
		first.members++
	}
}

// members yields the ops of a set that are open.
func (bk *book) members(set int64) iter.Seq[*op] {
	return func(yield func(*op) bool) {
		for id := set; set != 0 && id < set+int64(bk.rules.Claims.MultiKey); id++ {
			if x := bk.records.numbers.page(pageOf(id)).op(id); x != nil && x.set == set && !yield(x) {
				return
			}
		}
	}
}

// setOf returns the ops of the call that o is part of, o first: o alone if it was
// for one key. It is asked when o completes. A set's answer is judged once, when
// its first op completes, so for the others setOf returns nil. It returns nil too
// if some of the ops are not open any more: then nothing follows from the answer.
func (bk *book) setOf(o *op) []*op {
	all := append(bk.asking[:0], o)
	if bk.asking = all; o.set == 0 {
		return all
	}
	if o.id != o.set {
		return nil
	}
	for x := range bk.members(o.set) {
		if x != o {
			all = append(all, x)
		}
	}
	bk.asking = all
	if len(all) < int(o.members) {
		bk.malformed++
		return nil
	}
	return all
}

// keysOf adds the keys of ops.
func (bk *book) keysOf(keys []*keyState, ops ...*op) []*keyState {
	for _, o := range ops {
		if k := bk.keys[o.key]; !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// entangled returns the keys of ops, and those that may keep them taken. An acquire of
// a set that waits may have some of its keys already, while it waits for the others.
func (bk *book) entangled(ops ...*op) []*keyState {
	keys := bk.keysOf(nil, ops...)
	for i := 0; bk.openSets > 0 && i < len(keys); i++ {
		for o := keys[i].waitHead; o != nil; o = o.next {
			for x := range bk.members(o.set) {
				if x.waiting {
					keys = bk.keysOf(keys, x)
				}
			}
		}
	}
	return keys
}

// unheld is the time since which nobody can hold any of the keys (unheldSince).
func (bk *book) unheld(keys []*keyState) (since int64) {
	for _, k := range keys {
		since = max(since, bk.unheldSince(k))
	}
	return since
}

// needed is for how long keys must have been free and wanted since from to be stuck (neededSince).
func (bk *book) needed(keys []*keyState, from int64) (need int64) {
	for _, k := range keys {
		need = max(need, bk.neededSince(k, from))
	}
	return need
}

// setFailed notes that the acquire of a set failed, before it is taken out of its
// queues. While others could have some of its keys, it may have had the rest until then.
func (bk *book) setFailed(asked []*op, end int64) {
	if bk.unheld(bk.entangled(asked...)) <= asked[0].inv {
		return
	}
	for _, o := range asked {
		k := bk.keys[o.key]
		k.freeAt = max(k.freeAt, end)
	}
}
