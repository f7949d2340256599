package spill

import (
	"slices"
	"unsafe"
)

// Sorter puts items without pointers in order; of equal ones, the one that was
// added first comes first. It sorts runs of them while more come, writes them
// to a temporary file, and merges them in the end.
type Sorter[T any] struct {
	scratch scratch
	compare func(a, b T) int
	run     []T // the newest items, which are not sorted yet
	spare   []T
	most    int        // items of a run
	runs    int        // in the file
	chains  []chain[T] // of the runs in the file
	written <-chan any // what writing a run panicked with; nil: none has been written
}

// chain is runs of which each begins where the one before ends, so they are read as one.
type chain[T any] struct {
	runs []stretch
	last T
}

// stretch is a run in the file.
type stretch struct {
	at     int64
	length int
	number int
}

// NewSorter returns a sorter without items.
func NewSorter[T any](r Room, compare func(a, b T) int) *Sorter[T] {
	s := &Sorter[T]{compare: compare, most: max(4, r.Run/int(unsafe.Sizeof(*new(T))))}
	r.add(s)
	return s
}

// Add adds an item.
func (s *Sorter[T]) Add(item T) {
	if len(s.run) == cap(s.run) {
		s.grow()
	}
	s.run = append(s.run, item)
}

// grow makes room for another item: little by little at first, then at once for a whole run.
func (s *Sorter[T]) grow() {
	switch few := s.most / 64; {
	case len(s.run) == s.most:
		s.put()
	case len(s.run) < few:
		s.run = slices.Grow(s.run, min(few, max(16, len(s.run))))
	default:
		s.run = append(make([]T, 0, s.most), s.run...)
	}
}

// put has the newest run sorted and written, on another processor.
func (s *Sorter[T]) put() {
	s.wait()
	run := s.run
	if s.run, s.spare = s.spare[:0], run; cap(s.run) == 0 {
		s.run = make([]T, 0, s.most)
	}
	s.written = Aside(func() {
		s.sort(run)
		s.write(run)
	})
}

func (s *Sorter[T]) wait() {
	if s.written != nil {
		Join(s.written)
	}
}

// Aside does something on another processor. It returns what that panicked
// with, or nil, in a channel that is closed afterwards.
func Aside(do func()) <-chan any {
	done := make(chan any, 1)
	go func() {
		defer close(done)
		defer func() { done <- recover() }()
		do()
	}()
	return done
}

// Join waits for what is done aside, and panics as it did.
func Join(done <-chan any) {
	if wrong := <-done; wrong != nil {
		panic(wrong)
	}
}

func (s *Sorter[T]) sort(run []T) {
	if !s.nearly(run) {
		slices.SortStableFunc(run, s.compare)
	}
}

// nearly sorts a run in which hardly any item is far from its place, and reports whether it did.
func (s *Sorter[T]) nearly(run []T) bool {
	moves := 8 * len(run)
	for i := 1; i < len(run); i++ {
		if s.compare(run[i-1], run[i]) <= 0 {
			continue
		}
		item, to := run[i], i
		for ; to > 0 && s.compare(run[to-1], item) > 0; to-- {
			run[to] = run[to-1]
		}
		run[to] = item
		if moves -= i - to; moves < 0 {
			return false
		}
	}
	return true
}

func (s *Sorter[T]) write(run []T) {
	to := slices.IndexFunc(s.chains, func(c chain[T]) bool { return s.compare(c.last, run[0]) <= 0 })
	if to < 0 {
		to = len(s.chains)
		s.chains = append(s.chains, chain[T]{})
	}
	c := &s.chains[to]
	c.runs = append(c.runs, stretch{s.scratch.write(raw(run)), len(run), s.runs})
	c.last = run[len(run)-1]
	s.runs++
}

// Close forgets everything.
func (s *Sorter[T]) Close() {
	if s.written != nil {
		<-s.written // what went wrong does not matter any more
	}
	s.scratch.close()
	s.run, s.spare, s.chains = nil, nil, nil
}

// Cursor goes through the items of a sorter in order.
type Cursor[T any] struct {
	from  *Sorter[T]
	heap  Heap[*source[T]] // the one with the least item on top
	begun bool
}

// source is a chain that is being read, or the run that was never written.
type source[T any] struct {
	items []T
	at    int
	run   int
	left  []stretch
}

// InOrder begins at the least item. Nothing is added any more. There may be several cursors.
func (s *Sorter[T]) InOrder() *Cursor[T] {
	s.wait()
	s.sort(s.run)
	c := &Cursor[T]{from: s}
	c.heap.Less = func(a, b *source[T]) bool {
		if order := s.compare(a.items[a.at], b.items[b.at]); order != 0 {
			return order < 0
		}
		return a.run < b.run
	}
	for _, chain := range s.chains {
		from := &source[T]{left: slices.Clone(chain.runs)}
		c.fill(from)
		c.heap.Push(from)
	}
	if len(s.run) > 0 {
		c.heap.Push(&source[T]{items: s.run, run: s.runs})
	}
	return c
}

// fill reads on in a chain, and reports whether there was more.
func (c *Cursor[T]) fill(s *source[T]) bool {
	if len(s.left) == 0 {
		return false
	}
	next := &s.left[0]
	// 16 MB for all, however many there are
	bytes := max(1<<12, min(1<<16, 1<<24/len(c.from.chains)))
	size := int(unsafe.Sizeof(*new(T)))
	n := min(next.length, max(1, min(bytes/size, c.from.most)))
	s.items, s.at, s.run = slices.Grow(s.items[:0], n)[:n], 0, next.number
	c.from.scratch.read(raw(s.items), next.at)
	next.at += int64(n * size)
	if next.length -= n; next.length == 0 {
		s.left = s.left[1:]
	}
	return true
}

// Next returns the next item, which is good until the next call; nil: there is none.
func (c *Cursor[T]) Next() *T {
	if c.begun && len(c.heap.Items) > 0 {
		if s := c.heap.Items[0]; s.at+1 < len(s.items) {
			s.at++
			c.heap.down(0)
		} else if c.fill(s) {
			c.heap.down(0)
		} else {
			c.heap.Pop()
		}
	}
	c.begun = true
	if len(c.heap.Items) == 0 {
		return nil
	}
	s := c.heap.Items[0]
	return &s.items[s.at]
}

// Heap is a heap: the least item is on top.
type Heap[T any] struct {
	Items []T
	Less  func(a, b T) bool
}

// Push adds an item.
func (h *Heap[T]) Push(item T) {
	h.Items = append(h.Items, item)
	for i := len(h.Items) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.Less(h.Items[i], h.Items[parent]) {
			return
		}
		h.Items[i], h.Items[parent] = h.Items[parent], h.Items[i]
		i = parent
	}
}

// Pop takes the least item away, and returns it.
func (h *Heap[T]) Pop() T {
	top, last := h.Items[0], len(h.Items)-1
	h.Items[0] = h.Items[last]
	h.Items = h.Items[:last]
	h.down(0)
	return top
}

// down moves an item that may be too great to its place.
func (h *Heap[T]) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.Items); child++ {
			if h.Less(h.Items[child], h.Items[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		h.Items[i], h.Items[least] = h.Items[least], h.Items[i]
		i = least
	}
}
