package checker

import "math/bits"

// table maps op numbers to records of what is still open. It is a plain open-addressed table with linear probing: a judge does several
// look-ups an event, the table holds a few hundred entries, and Go's own map costs three times as much there.
//
// Keys are positive; 0 marks an empty slot.
type table[T any] struct {
	slots []slot[T] // a power of two of them, at least half of them empty
	n     int
	shift uint
}

type slot[T any] struct {
	key int64
	val *T
}

const tableMin = 64

func newTable[T any]() table[T] { return sizedTable[T](tableMin) }

func sizedTable[T any](size int) table[T] {
	return table[T]{slots: make([]slot[T], size), shift: uint(64 - bits.TrailingZeros(uint(size)))}
}

// home is where a key would like to be. Op numbers mostly count up, so neighbours get every other slot: they do not meet, and there is a gap behind
// each, at which del stops. What lies further apart is spread by Fibonacci hashing, so that op numbers with a stride do not pile up.
func (t *table[T]) home(key int64) int {
	k := uint64(key)
	return int(2*k+(k>>10*0x9E3779B97F4A7C15)>>t.shift) & (len(t.slots) - 1)
}

// get returns the record of the key, or nil.
func (t *table[T]) get(key int64) *T {
	mask := len(t.slots) - 1
	for i := t.home(key); ; i++ {
		s := &t.slots[i&mask]
		if s.key == key || s.key == 0 {
			return s.val // of an empty slot, nil
		}
	}
}

// put adds a key, and tells whether it was not in the table before.
func (t *table[T]) put(key int64, val *T) bool {
	if 2*t.n >= len(t.slots) {
		t.grow()
	}
	mask := len(t.slots) - 1
	for i := t.home(key); ; i++ {
		s := &t.slots[i&mask]
		switch s.key {
		case key:
			return false
		case 0:
			s.key, s.val = key, val
			t.n++
			return true
		}
	}
}

// del removes a key if it is there, and closes the gap, so that no tombstones gather over a long history.
func (t *table[T]) del(key int64) {
	mask := len(t.slots) - 1
	i := t.home(key)
	for t.slots[i].key != key {
		if t.slots[i].key == 0 {
			return
		}
		i = (i + 1) & mask
	}
	t.n--
	for j := (i + 1) & mask; t.slots[j].key != 0; j = (j + 1) & mask {
		// The entry at j may move into the gap only if the gap lies between its own slot and j.
		if home := t.home(t.slots[j].key); (j-home)&mask >= (j-i)&mask {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = slot[T]{}
}

// each calls f for every record, in no particular order: use it only for what does not depend on order.
func (t *table[T]) each(f func(*T)) {
	for i := range t.slots {
		if t.slots[i].key != 0 {
			f(t.slots[i].val)
		}
	}
}

func (t *table[T]) grow() {
	old := t.slots
	*t = sizedTable[T](2 * len(old))
	for i := range old {
		if old[i].key != 0 {
			t.put(old[i].key, old[i].val)
		}
	}
}
