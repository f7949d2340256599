// # Several keys in one acquire
//
// One acquire may ask for several keys, which are granted all together or not at all
// (Claims.MultiKey). The history has one op for each key, with the same stamps and one answer
// (Event.Set). Each key is judged by its own op, as if it had been asked for alone. An acquire of
// unknown fate may have any of its keys, or all.
//
// What the answer says, it says of the set. "Each key by itself" accuses correct locks:
//
//	A.acquire k0 [0,1]; B.acquire k0+k1 [10,20] busy
//
// Nobody has k1, yet busy is right. So busy is false only if nobody can have any
// key of the set. It says too that nothing is left: a client that asks for k1
// alone after that has it, or a false busy. In the same way, "not held" says that
// some key of the set is lost. It is a false loss only if each of them certainly
// stood. A client waits for a kept key only if it could have all the others.
//
// An acquire of a set that is open may have some of its keys, while it waits
// for another. Here B may keep k1 for as long as C has k2:
//
//	C.acquire k2 [0,1]; B.acquire k1+k2 [5,4200] busy; A.acquire k1 [10,4000] busy
//
// So a key is free, for a stuck lock, only if those keys are free too that an
// open acquire asks for together with it, and so on from set to set. Until a
// set is refused, its keys count as held if one of these was. "What an open
// acquire asks for may be held" lets two sets go free that wait for each other:
//
//	B.acquire k1+k2 [5,4200] busy; A.acquire k2+k1 [10,4000] busy
//
// A set that waits may be passed over rightly, while one of its keys is taken.
// So no property accuses a lock for it of being unfair (fifo, starvation). A
// set that passes over a single key is judged.
//
// A set is not judged as a whole. If the tokens of one key show that a set was granted before its
// reply came, its holds of the other keys still begin with the reply. Porcupine and the enumerating
// judge see one key at a time, as this one does.
package checker

import (
	"iter"
	"slices"
)

// join notes that an op of a set was invoked.
func (bk *book) join(o *op) {
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
