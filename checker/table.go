package checker

import "math/bits"

// table maps op numbers to records of what is still open. It is a plain open-addressed table with linear probing: a judge does several
// look-ups an event, the table holds a few hundred entries, and Go's own map costs three times as much there.
//
// Keys are positive; 0 marks an empty slot.
type table[T any] struct {
	keys  []int64
	vals  []*T
	n     int
	shift uint
}

const tableMin = 64

// slot is where a key would like to be: Fibonacci hashing, so that op numbers with a stride do not pile up.
func (t *table[T]) slot(key int64) int {
	return int(uint64(key) * 0x9E3779B97F4A7C15 >> t.shift)
}

// get returns the record of the key, or nil.
func (t *table[T]) get(key int64) *T {
	if t.n == 0 || key == 0 {
		return nil
	}
	mask := len(t.keys) - 1
	for i := t.slot(key); ; i = (i + 1) & mask {
		switch t.keys[i] {
		case key:
			return t.vals[i]
		case 0:
			return nil
		}
	}
}

// put adds a key that is not in the table.
func (t *table[T]) put(key int64, val *T) {
	if 2*t.n >= len(t.keys) {
		t.grow()
	}
	mask := len(t.keys) - 1
	i := t.slot(key)
	for t.keys[i] != 0 {
		i = (i + 1) & mask
	}
	t.keys[i], t.vals[i] = key, val
	t.n++
}

// del removes a key if it is there, and closes the gap, so that no tombstones gather over a long history.
func (t *table[T]) del(key int64) {
	if t.n == 0 || key == 0 {
		return
	}
	mask := len(t.keys) - 1
	i := t.slot(key)
	for t.keys[i] != key {
		if t.keys[i] == 0 {
			return
		}
		i = (i + 1) & mask
	}
	t.n--
	for j := (i + 1) & mask; t.keys[j] != 0; j = (j + 1) & mask {
		// The entry at j may move into the gap only if the gap lies between its own slot and j.
		if home := t.slot(t.keys[j]); (j-home)&mask >= (j-i)&mask {
			t.keys[i], t.vals[i] = t.keys[j], t.vals[j]
			i = j
		}
	}
	t.keys[i], t.vals[i] = 0, nil
}

// each calls f for every record, in no particular order: use it only for what does not depend on order.
func (t *table[T]) each(f func(*T)) {
	for i, key := range t.keys {
		if key != 0 {
			f(t.vals[i])
		}
	}
}

func (t *table[T]) grow() {
	old := *t
	size := max(tableMin, 2*len(old.keys))
	t.keys, t.vals, t.n = make([]int64, size), make([]*T, size), 0
	t.shift = uint(64 - bits.TrailingZeros(uint(size)))
	for i, key := range old.keys {
		if key != 0 {
			t.put(key, old.vals[i])
		}
	}
}
