package checker

import (
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// The statistics follow the plan: each of its faults has its own, also two of
// one kind, and the one that never came.
func TestFaultStatisticsFollowThePlan(t *testing.T) {
	header := history.Header{Claims: history.Claims{Permits: 1}, Faults: []history.PlannedFault{
		{Kind: "pause", Target: "holder", When: "random", Text: "for 1s"},
		{Kind: "pause", Target: "redis-1", When: "random"}, {Kind: "kill", Target: "holder"}}}
	s := New(header, nil, Options{})
	add := func(f history.FaultInfo, at int64) {
		f.When, f.Injected = "random", true
		begin, end := f, f
		begin.Phase = "begin"
		end.Phase, end.From, end.To, end.Bit, end.Evidence = "end", at, at+5, true, "state T"
		s.Add(&history.Event{Type: history.Fault, Time: at, Fault: &begin})
		s.Add(&history.Event{Type: history.Fault, Time: at + 6, Fault: &end})
	}
	add(history.FaultInfo{ID: 1, Plan: 1, Kind: "pause", Clients: []int32{1}, Holding: 3}, 10)
	add(history.FaultInfo{ID: 2, Plan: 2, Kind: "pause", Service: true}, 20)
	add(history.FaultInfo{ID: 3, Plan: 2, Kind: "pause", Service: true}, 30)
	add(history.FaultInfo{ID: 4, Kind: "pause", Clients: []int32{2}}, 40)
	want := []FaultStats{
		{Plan: 1, Planned: "for 1s", Kind: "pause", Target: "holder", When: "random", Injected: true, Begun: 1, Bit: 1,
			MetHolder: 1, Evidence: "state T", Shortest: 5, Longest: 5},
		{Plan: 2, Kind: "pause", Target: "redis-1", When: "random", Injected: true, Begun: 2, Bit: 2,
			Evidence: "state T", Shortest: 5, Longest: 5},
		{Plan: 3, Kind: "kill", Target: "holder", Injected: true},
		{Kind: "pause", When: "random", Injected: true, Begun: 1, Bit: 1, Evidence: "state T", Shortest: 5, Longest: 5},
	}
	st := s.Finish(false).Stats
	if len(st.Faults) != len(want) || st.Bites != 3 {
		t.Fatalf("%d bites, %+v", st.Bites, st.Faults)
	}
	for i, f := range st.Faults {
		if f != want[i] {
			t.Errorf("%d: %+v, want %+v", i, f, want[i])
		}
	}
}
