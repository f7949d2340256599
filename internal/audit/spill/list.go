package spill

import (
	"iter"
	"math/bits"
	"unsafe"
)

// List is a list of items without pointers. Pages that were not used of late lie
// in a temporary file. A pointer to an item is good until the next add or trim.
type List[T any] struct {
	scratch scratch
	pages   []page[T]
	Length  int32 // how many items it has
	shift   int
	most    int   // pages in memory
	loaded  []int // which they are
	hand    int   // the place in loaded where trim goes on
	free    [][]T // memory of pages that trim wrote down
}

type page[T any] struct {
	items         []T   // nil: they are in the file
	at            int64 // where; -1: nowhere yet
	used, changed bool  // used: since trim last came by; changed: since it was written
}

// NewList returns an empty list with so much room.
func NewList[T any](r Room) *List[T] {
	l := &List[T]{shift: bits.TrailingZeros(uint(r.Page)), most: r.Pages}
	r.add(l)
	return l
}

// Add adds an item, and returns its number.
func (l *List[T]) Add(item T) int32 {
	i := l.Length
	switch n := int(i >> l.shift); {
	case n == len(l.pages):
		l.pages = append(l.pages, page[T]{items: l.buffer(), at: -1})
		l.loaded = append(l.loaded, n)
	case n == 0 && int(i) == len(l.pages[0].items): // the first page grows, for many a log is short
		l.pages[0].items = append(l.pages[0].items, make([]T, i)...)
	}
	l.Length++
	*l.At(i) = item
	return i
}

// At returns an item that the caller may change.
func (l *List[T]) At(i int32) *T {
	p := &l.pages[i>>l.shift]
	if p.items == nil {
		l.load(p, int(i>>l.shift))
	}
	p.used, p.changed = true, true
	return &p.items[i&(1<<l.shift-1)]
}

// See returns an item that the caller does not change.
func (l *List[T]) See(i int32) *T {
	p := &l.pages[i>>l.shift]
	if p.items == nil {
		l.load(p, int(i>>l.shift))
	}
	p.used = true
	return &p.items[i&(1<<l.shift-1)]
}

func (l *List[T]) load(p *page[T], n int) {
	p.items = l.buffer()
	l.scratch.read(raw(p.items), p.at)
	l.loaded = append(l.loaded, n)
}

func (l *List[T]) buffer() []T {
	if n := len(l.free); n > 0 {
		buf := l.free[n-1]
		l.free = l.free[:n-1]
		return buf
	}
	if len(l.pages) == 0 {
		return make([]T, min(16, 1<<l.shift))
	}
	return make([]T, 1<<l.shift)
}

// Copy returns a copy of an item without loading its page.
func (l *List[T]) Copy(i int32) T {
	p, at := &l.pages[i>>l.shift], int(i)&(1<<l.shift-1)
	if p.items != nil {
		return p.items[at]
	}
	item := make([]T, 1)
	l.scratch.read(raw(item), p.at+int64(at)*int64(unsafe.Sizeof(item[0])))
	return item[0]
}

// Close forgets the items.
func (l *List[T]) Close() {
	l.scratch.close()
	l.pages, l.loaded, l.free, l.Length = nil, nil, nil, 0
}

// Trim writes pages that were not used of late to the file while too many are in memory.
func (l *List[T]) Trim() {
	for len(l.loaded) > l.most {
		if l.hand >= len(l.loaded) {
			l.hand = 0
		}
		p := &l.pages[l.loaded[l.hand]]
		if p.used {
			p.used = false
			l.hand++
			continue
		}
		if p.changed {
			if p.at < 0 {
				p.at = l.scratch.write(raw(p.items))
			} else {
				l.scratch.writeAt(raw(p.items), p.at)
			}
		}
		l.free = append(l.free, p.items)
		p.items, p.changed = nil, false
		l.loaded[l.hand] = l.loaded[len(l.loaded)-1]
		l.loaded = l.loaded[:len(l.loaded)-1]
	}
}

// Each yields the numbers from one up to, but without, another, and trims before each.
func (l *List[T]) Each(from, to int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for i := from; i < to; i++ {
			l.Trim()
			if !yield(i) {
				return
			}
		}
	}
}

// Scan calls see with all items without loading pages, so that pointers stay good.
func (l *List[T]) Scan(see func(i int32, item *T)) {
	var apart []T
	for n := range l.pages {
		items := l.pages[n].items
		if items == nil {
			if apart == nil {
				apart = make([]T, 1<<l.shift)
			}
			items = apart
			l.scratch.read(raw(items), l.pages[n].at)
		}
		first := int32(n) << l.shift
		for k := range items[:min(len(items), int(l.Length-first))] {
			see(first+int32(k), &items[k])
		}
	}
}
