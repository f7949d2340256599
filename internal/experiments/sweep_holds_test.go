package experiments

import (
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// A strike on nodes meets all who hold at that time. One on a client meets the grant that it names.
// One that met nobody is counted by itself.
func TestStruckHolds(t *testing.T) {
	h := &history.History{Header: history.Header{Claims: history.Claims{Permits: 1}}, Keys: []string{"k"}}
	op := func(kind history.Kind, op, grant, at int64) {
		e := history.Event{Type: history.Invoke, Kind: kind, Op: op, Grant: grant, Client: 1, Process: 1, Time: at}
		h.Events = append(h.Events, e)
		e.Type, e.Time, e.Start, e.End = history.OK, at+2, at, at+1
		h.Events = append(h.Events, e)
	}
	strike := func(id int, service bool, holding, at int64) {
		for _, phase := range []string{"begin", "end"} {
			f := &history.FaultInfo{ID: id, Kind: "pause", Phase: phase, Service: service, Holding: holding,
				Injected: true, Bit: phase == "end", From: at, To: at + 3}
			h.Events = append(h.Events, history.Event{Type: history.Fault, Time: at, Fault: f})
		}
	}
	op(history.Acquire, 1, 1, 10)
	strike(1, true, 0, 20)
	op(history.Release, 2, 1, 30)
	strike(2, true, 0, 40)
	op(history.Acquire, 3, 3, 50)
	strike(3, false, 3, 60)
	h.Events = append(h.Events, history.Event{Type: history.End, Time: 99})
	if p := StruckHolds(h, checker.MutualExclusion); p.Struck != 2 || p.Missed != 1 || p.Violated != 0 ||
		p.Shortest != 3 || p.Longest != 3 {
		t.Errorf("%+v", p)
	}
}
