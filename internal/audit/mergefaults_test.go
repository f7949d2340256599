package audit

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

// Client 2 is named first in the options and second in the log; it is frozen
// while it holds, outlives its lease, and writes.
const frozenLog = `{"time":1700000000.000,"end":1700000000.100,"client":"b","event":"grant","key":"k"}
{"time":1700000000.010,"client":"a","event":"request","key":"k"}
{"time":1700000001.400,"end":1700000001.500,"client":"a","event":"grant","key":"k"}
{"time":1700000001.600,"end":1700000001.700,"client":"a","event":"write","key":"k"}
{"time":1700000001.800,"end":1700000001.900,"client":"a","event":"release","key":"k"}
{"time":1700000003.000,"end":1700000003.100,"client":"b","event":"write","key":"k"}
{"time":1700000003.200,"end":1700000003.300,"client":"b","event":"not-held","key":"k"}
`

func weave(t *testing.T, log string, faults ...history.Event) *history.History {
	t.Helper()
	s, err := Read(strings.NewReader(log), "log", formats.JSON, Options{Clients: []string{"a", "b"}, Validity: &Validity{TTL: 1e9}})
	if err != nil {
		t.Fatal(err)
	}
	woven, err := MergeFaults(s, Faults{Record: &history.History{Events: faults}, Ahead: s.Header.Started.UnixNano(),
		Clients: [][]int32{{1}, {2}}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := woven.Encode(&out); err != nil {
		t.Fatal(err)
	}
	h, err := history.ReadAll(&out, "woven")
	if err != nil {
		t.Fatal(err)
	}
	if h.Truncated {
		t.Error("the history is truncated")
	}
	return h
}

func frozen(id int, client int32, from, to int64) (both []history.Event) {
	for _, phase := range []string{"begin", "end"} {
		f := history.FaultInfo{ID: id, Kind: "pause", Phase: phase, Target: "holder", When: "random",
			Clients: []int32{client}, Injected: true, From: from}
		e := history.Event{Type: history.Fault, Time: from, Client: client, Fault: &f}
		if phase == "end" {
			f.To, f.Bit, f.Evidence, e.Time = to, true, "state T", to
		}
		both = append(both, e)
	}
	return both
}

// Woven in, a fault explains what the log alone only shows, and is known to have met its holder.
func TestWeave(t *testing.T) {
	h := weave(t, frozenLog, append(frozen(1, 2, 2e8, 29e8), frozen(2, 1, 40e8, 41e8)...)...)
	met := map[int]int64{}
	for _, e := range h.Events {
		if e.Type == history.Fault {
			met[e.Fault.ID] = e.Fault.Holding
		}
		if e.Kind == history.Acquire && e.Type == history.OK && e.Client == 2 && met[1] != 0 {
			t.Error("the fault comes before the grant that it met")
		}
	}
	if met[1] == 0 || met[2] != 0 {
		t.Errorf("the faults met grants %v", met)
	}
	v := checker.Judge(h, checker.Options{Keep: 10})
	kinds := map[string]int{}
	for _, p := range v.Properties {
		if p.Name == checker.MutualExclusion {
			kinds = p.Kinds
		}
	}
	if v.Outcome != checker.Violated || kinds["lease-overrun"] != 1 || len(kinds) != 1 || v.Stats.Bites != 1 {
		t.Errorf("%v, kinds %v, %d bites", v.Outcome, kinds, v.Stats.Bites)
	}
}

// Who was killed holds nothing any more, though the lease had not ended: the record says when he
// was gone, and that somebody else is granted then is no fault of the lock's. Without it, it is.
func TestWeaveTheEndOfAClient(t *testing.T) {
	const log = `{"time":1700000000.000,"end":1700000000.100,"client":"b","event":"grant","key":"k"}
{"time":1700000000.010,"client":"a","event":"request","key":"k"}
{"time":1700000000.400,"end":1700000000.500,"client":"a","event":"grant","key":"k"}
{"time":1700000000.800,"end":1700000000.900,"client":"a","event":"release","key":"k"}
`
	kill := frozen(1, 2, 2e8, 3e8)
	for i := range kill {
		kill[i].Fault.Kind, kill[i].Fault.Touch = "kill-pod", &history.Touch{Ends: history.EndsProcess}
	}
	exit := history.Event{Type: history.Exit, Time: 31e7, Start: 3e8, Client: 2, Process: 2}
	for name, c := range map[string]struct {
		record []history.Event
		want   checker.Outcome
	}{
		"gone":  {append(kill, exit), checker.Pass},
		"alive": {nil, checker.Violated},
	} {
		v := checker.Judge(weave(t, log, c.record...), checker.Options{})
		if p := v.Property(checker.MutualExclusion); p.Outcome != c.want {
			t.Errorf("%s: %v, want %v: %s", name, p.Outcome, c.want, p.Why)
		}
	}
}

// Reads are acts, of which no ledger tells: that it has none of them leaves nothing in doubt.
func TestReadsNeedNoLedger(t *testing.T) {
	const log = `{"time":1700000000.0,"end":1700000000.1,"client":"a","event":"grant","key":"k","token":1}
{"time":1700000000.2,"end":1700000000.3,"client":"a","event":"read","key":"k","token":1}
{"time":1700000000.4,"end":1700000000.5,"client":"a","event":"write","key":"k","token":1}
{"time":1700000000.6,"end":1700000000.7,"client":"a","event":"release","key":"k","token":1}
{"time":1700000000.1,"end":1700000000.8,"client":"b","event":"grant","key":"k","token":2}
{"time":1700000000.9,"end":1700000001.0,"client":"b","event":"read","key":"k","token":2}
{"time":1700000001.1,"end":1700000001.2,"client":"b","event":"write","key":"k","token":2}
`
	v := checker.Judge(weave(t, log), checker.Options{})
	for _, p := range v.Properties {
		if p.Name == checker.UnfencedWrite && p.Outcome != checker.Pass {
			t.Errorf("%s is %v: %s", p.Name, p.Outcome, p.Why)
		}
	}
}

// A write that is under way while one with a greater token is may have been
// taken before it or behind it: the log does not tell.
func TestWritesThatCross(t *testing.T) {
	const log = `{"time":1700000000.0,"end":1700000000.1,"client":"a","event":"grant","key":"k","token":1}
{"time":1700000000.2,"end":A,"client":"a","event":"write","key":"k","token":1}
{"time":1700000003.0,"end":1700000003.1,"client":"b","event":"grant","key":"k","token":2}
{"time":1700000003.2,"end":1700000003.3,"client":"b","event":"write","key":"k","token":2}
{"time":1700000003.4,"end":1700000003.5,"client":"b","event":"release","key":"k","token":2}
`
	const again = `{"time":1700000004.1,"end":1700000004.2,"client":"a","event":"write","key":"k","token":1}
`
	for name, c := range map[string]struct {
		log  string
		want checker.Outcome
	}{
		"before": {strings.Replace(log, "A", "1700000000.3", 1), checker.Pass},
		"across": {strings.Replace(log, "A", "1700000004.0", 1), checker.Inconclusive},
		"behind": {strings.Replace(log, "A", "1700000000.3", 1) + again, checker.Violated},
		// equal stamps decide nothing
		"on edge": {strings.Replace(log, "A", "1700000003.2", 1), checker.Pass},
	} {
		v := checker.Judge(weave(t, c.log), checker.Options{})
		if p := v.Property(checker.UnfencedWrite); p.Outcome != c.want {
			t.Errorf("%s: %v, want %v: %s", name, p.Outcome, c.want, p.Why)
		}
	}
}

// A log is cut so that whatever gave a key up for a grant that is kept is kept, too.
func TestTrim(t *testing.T) {
	line := func(means string, began, ended int64) Line {
		return Line{Means: means, Began: began, Ended: ended, Client: "a", Result: "ok"}
	}
	got := Trim([]Line{
		line("grant", 1, 5), line("write", 6, 12), // under a grant from before
		line("grant", 13, 14), line("write", 15, 16), line("release", 19, 25), line("grant", 19, 21), line("request", 21, 21),
	}, 10, 20)
	want := []Line{line("grant", 13, 14), line("write", 15, 16), line("release", 19, 25), line("request", 19, 19)}
	if !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	lawless := []Line{line("write", 11, 12)}
	if got := Trim(lawless, 10, 20); !slices.Equal(got, lawless) {
		t.Errorf("who never asks is left out: %+v", got)
	}
}
