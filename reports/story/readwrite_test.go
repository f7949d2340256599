package story

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// readersAndWriter is a history in which two readers hold a key together, and
// then a writer holds it.
func readersAndWriter() *history.History {
	h := &history.History{Keys: []string{"k0"}, Header: history.Header{TTL: 500e6, Clients: 3,
		Claims: history.Claims{Validity: "from_invocation", Permits: 1, ReadWrite: true}}}
	hold := func(op int64, client int32, mode history.Mode, from, to int64) {
		for _, e := range []history.Event{
			{Time: from, Type: history.Invoke, Kind: history.Acquire, Op: op, Grant: op, Mode: mode},
			{Time: from + 2, Type: history.OK, Kind: history.Acquire, Op: op, Grant: op, Start: from, End: from + 1},
			{Time: to, Type: history.Invoke, Kind: history.Release, Op: op + 1, Grant: op},
			{Time: to + 2, Type: history.OK, Kind: history.Release, Op: op + 1, Grant: op, Start: to, End: to + 1},
		} {
			e.Client, e.Process = client, client
			h.Events = append(h.Events, e)
		}
	}
	hold(1, 1, history.ModeRead, 1e6, 9e6)
	hold(3, 2, history.ModeRead, 2e6, 8e6)
	hold(5, 3, history.ModeWrite, 10e6, 12e6)
	return h
}

// TestReadersAndWritersInWords: two readers are no two holders of whom one is
// too many, and every acquire says what it asked for.
func TestReadersAndWritersInWords(t *testing.T) {
	h := readersAndWriter()
	v := checker.Verdict{Outcome: checker.Pass, Stats: checker.Stats{Grants: 3}}
	s := reporttest.Scenario("etcd-rw/none/unfenced", h, v)
	if got := passHeadline(s).String(); got != "Never a writer beside another holder in 3 grants" {
		t.Error(got)
	}
	r := reports.NewRecord(h, v)
	for op, want := range map[int64]string{1: " acquires k0 as a reader: ", 5: " acquires k0 as a writer: "} {
		m := sayAcquire(r, &Story{}, Moment{Op: r.Op(op)})
		if got := m.Text.String(); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	v.Stats.Overlapped.Of = 3
	if got := Exclusive(v, &h.Header); !strings.Contains(got, "all 3 grants were exclusive, as readers and writers are to be;") {
		t.Error(got)
	}
}
