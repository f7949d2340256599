package audit

import (
	"errors"
	"io"

	"github.com/lockchaos/lockchaos/history"
)

// Weave puts faults between the events of a translated history: what somebody did to the clients of a log while it was written. Faults are in the
// order in which they were recorded, with times that count from when the source's do; their Clients are numbers of Options.Clients. Which grant a
// fault met is found out here: that of a client which was granted a key and had not yet asked to release it.
//
// The events go to emit, in order.
func Weave(s *Source, faults []history.Event, emit func(*history.Event) error) error {
	w := weaver{emit: emit, held: map[int32][]int64{}, waits: map[int32]map[int64]bool{}, met: map[int]*history.FaultInfo{}}
	for {
		var e history.Event
		err := s.Read(&e)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		// What the ledger tells is stamped when it happened, and told later.
		for len(faults) > 0 && (e.Type != history.Ledger && faults[0].Time < e.Time || e.Type == history.End || e.Type == history.Watermark) {
			if err := w.fault(faults[0]); err != nil {
				return err
			}
			w.last = max(w.last, faults[0].Time)
			faults = faults[1:]
		}
		if e.Type == history.End || e.Type == history.Watermark {
			e.Time = max(e.Time, w.last)
			if e.Type == history.Watermark {
				e.Start = max(e.Start, w.last+1)
			}
		}
		w.note(&e)
		if err := emit(&e); err != nil {
			return err
		}
	}
}

type weaver struct {
	emit  func(*history.Event) error
	held  map[int32][]int64 // client → its grants, the oldest first
	waits map[int32]map[int64]bool
	met   map[int]*history.FaultInfo // faults that have begun
	last  int64
}

// note follows who holds what, and who waits.
func (w *weaver) note(e *history.Event) {
	switch {
	case e.Kind == history.Acquire && e.Type == history.Invoke:
		if w.waits[e.Client] == nil {
			w.waits[e.Client] = map[int64]bool{}
		}
		w.waits[e.Client][e.Op] = true
	case e.Kind == history.Acquire:
		delete(w.waits[e.Client], e.Op)
		if e.Type == history.OK {
			w.held[e.Client] = append(w.held[e.Client], e.Grant)
		}
	case e.Kind == history.Release && e.Type == history.Invoke, e.Type == history.Lost:
		kept := w.held[e.Client][:0]
		for _, g := range w.held[e.Client] {
			if g != e.Grant {
				kept = append(kept, g)
			}
		}
		w.held[e.Client] = kept
	}
}

// fault tells of one, with whom it met.
func (w *weaver) fault(e history.Event) error {
	info := *e.Fault
	if begun := w.met[info.ID]; begun != nil {
		info.Holding, info.Waiting = begun.Holding, begun.Waiting
	} else {
		info.Holding, info.Waiting = 0, false
		for _, c := range info.Clients {
			if grants := w.held[c]; len(grants) > 0 && (info.Holding == 0 || grants[0] < info.Holding) {
				info.Holding = grants[0]
			}
			info.Waiting = info.Waiting || len(w.waits[c]) > 0
		}
		w.met[info.ID] = &info
	}
	e.Fault = &info
	return w.emit(&e)
}
