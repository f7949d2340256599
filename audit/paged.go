package audit

import (
	"iter"
	"math/bits"
	"unsafe"
)

// paged is a list of items without pointers. Pages that were not used of late lie in a temporary file.
// A pointer to an item is good until the next add or trim.
type paged[T any] struct {
	scratch scratch
	pages   []page[T]
	length  int32
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

func newPaged[T any](r room) *paged[T] {
	l := &paged[T]{shift: bits.TrailingZeros(uint(r.page)), most: r.pages}
	r.add(l)
	return l
}

func (l *paged[T]) add(item T) int32 {
	i := l.length
	switch n := int(i >> l.shift); {
	case n == len(l.pages):
		l.pages = append(l.pages, page[T]{items: l.buffer(), at: -1})
		l.loaded = append(l.loaded, n)
	case n == 0 && int(i) == len(l.pages[0].items): // the first page grows, for many a log is short
		l.pages[0].items = append(l.pages[0].items, make([]T, i)...)
	}
	l.length++
	*l.at(i) = item
	return i
}

// at returns an item that the caller may change.
func (l *paged[T]) at(i int32) *T {
	p := &l.pages[i>>l.shift]
	if p.items == nil {
		l.load(p, int(i>>l.shift))
	}
	p.used, p.changed = true, true
	return &p.items[i&(1<<l.shift-1)]
}

// see returns an item that the caller does not change.
func (l *paged[T]) see(i int32) *T {
	p := &l.pages[i>>l.shift]
	if p.items == nil {
		l.load(p, int(i>>l.shift))
	}
	p.used = true
	return &p.items[i&(1<<l.shift-1)]
}

func (l *paged[T]) load(p *page[T], n int) {
	p.items = l.buffer()
	l.scratch.read(raw(p.items), p.at)
	l.loaded = append(l.loaded, n)
}

func (l *paged[T]) buffer() []T {
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

// copy returns a copy of an item without loading its page.
func (l *paged[T]) copy(i int32) T {
	p, at := &l.pages[i>>l.shift], int(i)&(1<<l.shift-1)
	if p.items != nil {
		return p.items[at]
	}
	item := make([]T, 1)
	l.scratch.read(raw(item), p.at+int64(at)*int64(unsafe.Sizeof(item[0])))
	return item[0]
}

// close forgets the items.
func (l *paged[T]) close() {
	l.scratch.close()
	l.pages, l.loaded, l.free, l.length = nil, nil, nil, 0
}

// trim writes pages that were not used of late to the file while too many are in memory.
func (l *paged[T]) trim() {
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

// each yields the numbers from one up to, but without, another, and trims before each.
func (l *paged[T]) each(from, to int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for i := from; i < to; i++ {
			l.trim()
			if !yield(i) {
				return
			}
		}
	}
}

// scan calls see with all items without loading pages, so that pointers stay good.
func (l *paged[T]) scan(see func(i int32, item *T)) {
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
		for k := range items[:min(len(items), int(l.length-first))] {
			see(first+int32(k), &items[k])
		}
	}
}
