package sim

import (
	"fmt"
	"slices"
	"time"
)

// instant is the present one: the events that waited when it began, in the order in which they
// come, by their seq, and that of the event that is happening.
type instant struct {
	at      int64
	waiting []uint64
	seq     uint64
	order   *Order // of an instant to come; nil: none is to change
}

// Order is another order of the events of one instant.
type Order struct {
	// At is the instant, of the World's time (ns).
	At int64
	// Events are numbers, from 1, of events that wait when the instant begins: they come in this
	// order, at the turns that they have among the others. What they cause within the instant comes
	// behind all that waited.
	Events []int
}

// Reorder has the events of one instant come in another order. It is for worlds that repeat
// (Repeats): there, events come in the order in which they were caused.
func (w *World) Reorder(o Order) { w.instant.order = &o }

// begin begins an instant, before its first event comes.
func (w *World) begin(at int64) {
	o := w.instant.order
	if w.places == nil && (o == nil || at < o.At) {
		return
	}
	waiting := w.waiting(at)
	if o != nil && at >= o.At {
		w.instant.order = nil
		w.reorder(*o, at, waiting)
		waiting = w.waiting(at)
	}
	w.instant.at, w.instant.waiting = at, w.instant.waiting[:0]
	for _, e := range waiting {
		w.instant.waiting = append(w.instant.waiting, e.seq)
	}
}

// waiting are the events of an instant that is to begin, in their order.
func (w *World) waiting(at int64) (all []event) {
	for i := range w.events {
		if e := &w.events[i]; e.at == at && !e.stale() {
			all = append(all, *e)
		}
	}
	slices.SortFunc(all, func(a, b event) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	return all
}

// reorder has the events that wait come in another order.
func (w *World) reorder(o Order, at int64, waiting []event) {
	turns := slices.Sorted(slices.Values(o.Events))
	if at != o.At || len(turns) == 0 || turns[0] < 1 || turns[len(turns)-1] > len(waiting) ||
		len(slices.Compact(slices.Clone(turns))) != len(turns) {
		w.Fail(fmt.Errorf("the events %v of the instant %v cannot come in another order: %d wait there", o.Events,
			time.Duration(o.At), len(waiting)))
		return
	}
	ordered := slices.Clone(waiting)
	for i, turn := range turns {
		ordered[turn-1] = waiting[o.Events[i]-1]
	}
	w.events = w.events.without(func(e *event) bool { return e.at == at })
	for _, e := range ordered {
		w.seq++
		e.seq, e.tie = w.seq, 0
		w.events.push(e)
	}
}

// event is the number of the event that is happening among those that waited for the instant; 0: it
// did not wait.
func (w *World) event() int {
	if w.now != w.instant.at {
		return 0
	}
	return slices.Index(w.instant.waiting, w.instant.seq) + 1
}
