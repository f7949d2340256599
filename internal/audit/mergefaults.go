package audit

import (
	"errors"
	"io"

	"github.com/lockchaos/lockchaos/history"
)

// Faults are what was done to the processes of an application while they logged.
type Faults struct {
	// Record has the faults as they were recorded, and the ends of processes
	// that none followed on. Their clients are processes, by number from 1.
	Record *history.History
	// Ahead is how far the wall clock, by which the log was written, was ahead of the record's
	// monotonic clock (ns).
	Ahead int64
	// Clients are the clients of each process: see Number.
	Clients [][]int32
}

// MergeFaults makes a history of what was logged, translated, and of the faults meanwhile. Which
// grant a fault met follows from the log: the oldest one that the struck client had been granted
// and had not given up.
func MergeFaults(s *Source, f Faults) (*history.History, error) {
	h := &history.History{Header: s.Header, Keys: s.Keys}
	faults, last := f.translated(s.Header.Started.UnixNano()), int64(0)
	for {
		var e history.Event
		err := s.Read(&e)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		closing := e.Type == history.End || e.Type == history.Watermark
		// An entry of the ledger is stamped when it happened, and comes later.
		for len(faults) > 0 && (closing || e.Type != history.Ledger && faults[0].Time < e.Time) {
			last = max(last, faults[0].Time)
			h.Events, faults = append(h.Events, faults[0]), faults[1:]
		}
		if closing {
			e.Time = max(e.Time, last)
		}
		if e.Type == history.Watermark {
			e.Start = max(e.Start, last+1)
		}
		h.Events = append(h.Events, e)
	}
	view := history.NewView(h)
	for _, span := range view.Faults {
		meet(view, span)
	}
	return h, nil
}

// translated returns the faults with the stamps and the clients of the translated log, whose clock
// begins at zero (ns since 1970).
func (f Faults) translated(zero int64) (faults []history.Event) {
	shift := func(t *int64) {
		if *t != 0 {
			*t = max(1, *t+f.Record.Header.Origin+f.Ahead-zero)
		}
	}
	for _, e := range f.Record.Events {
		if e.Type == history.Exit {
			shift(&e.Time)
			shift(&e.Start)
			for _, client := range f.Clients[e.Client-1] {
				e.Client, e.Process = client, client
				faults = append(faults, e)
			}
			continue
		}
		if e.Type != history.Fault {
			continue
		}
		info := *e.Fault
		info.Clients = nil
		for _, process := range e.Fault.Clients {
			info.Clients = append(info.Clients, f.Clients[process-1]...)
		}
		shift(&e.Time)
		shift(&info.From)
		shift(&info.To)
		if e.Client, e.Fault = 0, &info; len(info.Clients) == 1 {
			e.Client = info.Clients[0]
		}
		faults = append(faults, e)
	}
	return faults
}

// meet notes in a fault's events whom it met: a holder, or a client that waited.
func meet(view *history.View, f *history.FaultSpan) {
	at, holding, waiting := view.History.Events[f.Places[0]].Time, int64(0), false
	for _, g := range view.HeldAt(at) {
		if f.Disturbs(g.Client) {
			holding = g.ID
			break
		}
	}
	for _, o := range view.Ops {
		waits := o.Kind == history.Acquire && o.Asked != 0 && o.Asked <= at &&
			(o.Outcome == history.TypeNone || o.End > at)
		waiting = waiting || waits && f.Disturbs(o.Client)
	}
	for _, place := range f.Places {
		info := view.History.Events[place].Fault
		info.Holding, info.Waiting = holding, waiting
	}
}
