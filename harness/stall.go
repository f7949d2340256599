package harness

import (
	"fmt"
	"math"
	"time"

	"github.com/lockchaos/lockchaos/history"
)

// span is a time in which a client was stopped on purpose (ns since the history's origin); to is 0 while it lasts.
type span struct {
	frozen   bool // its processes are stopped
	client   int32
	from, to int64
}

// unexplained returns the longest part of [from, to] in which the client was not stopped on purpose; from = to if there is
// none. Spans must be in the order of their beginnings, and those of one client do not overlap: a stopped client cannot be stopped again.
func unexplained(from, to int64, spans []span, client int32) (longFrom, longTo int64) {
	longFrom, longTo = from, from
	at := from // all before at is explained or measured
	keep := func(end int64) {
		if end-at > longTo-longFrom {
			longFrom, longTo = at, end
		}
	}
	for _, s := range spans {
		if s.client != client {
			continue
		}
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

// stalled is told that a client's heartbeat was late. What is left after taking away the injected pauses was the
// machine's own doing, and is recorded as a fault that nobody injected.
func (d *director) stalled(client int32, from, to int64, late time.Duration) {
	d.mu.Lock()
	from, to = unexplained(from, to, d.spans, client)
	if to-from <= int64(late) {
		d.mu.Unlock()
		return
	}
	info := history.FaultInfo{ID: d.ids.nextFault(), Kind: "stall", Phase: "begin", Clients: []int32{client}, From: from}
	d.mu.Unlock()
	begin := info
	d.rec.Record(history.Event{Type: history.Fault, Client: client, Fault: &begin})
	info.Phase, info.To, info.Bit = "end", to, true
	info.Evidence = fmt.Sprintf("the worker's heartbeat was %v late, and no pause was injected", time.Duration(to-from).Round(time.Millisecond))
	d.rec.Record(history.Event{Type: history.Fault, Client: client, Fault: &info})
}
