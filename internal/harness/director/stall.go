package director

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/history"
)

// unexplained returns the longest part of [from, to] that no span of the client
// explains; from = to if there is none.
func unexplained(from, to int64, spans []span, client int32) (longFrom, longTo int64) {
	spans = slices.DeleteFunc(slices.Clone(spans), func(s span) bool { return s.client != client })
	// stalls are noted when they are over
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	longFrom, longTo = from, from
	at := from // all before at is explained or measured
	keep := func(end int64) {
		if end-at > longTo-longFrom {
			longFrom, longTo = at, end
		}
	}
	for _, s := range spans {
		end := s.to
		if end == 0 {
			end = math.MaxInt64
		}
		if end <= at || s.from >= to {
			continue
		}
		keep(s.from)
		at = end
	}
	if at < to {
		keep(to)
	}
	return longFrom, longTo
}

// NoteStall is told that a client stood still for at least late, and how that was
// seen. What is left after taking away the injected pauses, and what has been recorded
// of it, was the machine's own doing: it is recorded as a fault that nobody injected.
func (d *Director) NoteStall(client int32, from, to int64, late time.Duration, seen func(time.Duration) string) {
	d.mu.Lock()
	from, to = unexplained(from, to, d.spans, client)
	if to-from <= int64(late) {
		d.mu.Unlock()
		return
	}
	d.spans = append(d.spans, span{client: client, from: from, to: to})
	d.mu.Unlock()
	d.RecordStall(history.FaultInfo{Clients: []int32{client}, From: from, To: to,
		Evidence: seen(time.Duration(to - from))}, client)
}

// RecordStall records that somebody stood still, when it is over.
func (d *Director) RecordStall(info history.FaultInfo, client int32) {
	info.ID, info.Kind, info.Phase, info.Bit = d.set.IDs.NextFault(), history.KindMachineStall, "end", true
	if info.Touch == nil {
		info.Touch = &history.MachineStall
	}
	begin := info
	begin.Phase, begin.To, begin.Evidence, begin.Bit = "begin", 0, "", false
	lasted := time.Duration(info.To - info.From)
	d.mu.Lock()
	if info.Service {
		d.undisturbed = max(d.undisturbed, d.set.Time.Now()+int64(lasted))
	} else if d.set.NoteStall != nil {
		d.set.NoteStall(lasted)
	}
	d.mu.Unlock()
	d.set.Recorder.Record(history.Event{Type: history.Fault, Client: client, Fault: &begin})
	d.set.Recorder.Record(history.Event{Type: history.Fault, Client: client, Fault: &info})
}
