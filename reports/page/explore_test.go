package page

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports/draw"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// explored is the timeline's data of a page.
func explored(t testing.TB, page string) (x struct {
	End        int64
	View       [2]int64
	Told       int
	Lanes      []string
	Holds      [][]any
	Waits      [][]any
	Marks      [][]any
	Writes     [][]any
	Faults     []draw.Band
	Violations []draw.Place
	Detail     [][2]int64
	Density    *draw.Density
}) {
	t.Helper()
	_, data, _ := strings.Cut(page, `id="run">`)
	data, _, ok := strings.Cut(data, "</script>")
	if !ok {
		t.Fatal("the page has no data for its timeline")
	}
	if err := json.Unmarshal([]byte(data), &x); err != nil {
		t.Fatal(err)
	}
	return x
}

// longRun is a history of more than 100,000 ops with forty frozen holders.
func longRun() (*history.History, checker.Verdict) {
	return reporttest.Sim{Clients: 8, Duration: 480_000 * reporttest.Ms, Freezes: 40, Think: 20 * reporttest.Ms}.Run()
}

// TestLongRun holds a page of 100,000 ops to its size, and checks that it still
// shows the places that matter op by op.
func TestLongRun(t *testing.T) {
	h, v := longRun()
	if v.Stats.Ops < 100_000 {
		t.Fatalf("only %d ops: the test tests nothing", v.Stats.Ops)
	}
	began := time.Now()
	text := reportOf(t, reporttest.Scenario("redis-setnx/pause-holder/unfenced", h, v))
	t.Logf("%d ops, %d bytes, %v", v.Stats.Ops, len(text), time.Since(began))
	if len(text) >= 2_000_000 {
		t.Errorf("the page has %d bytes: not below 2 MB", len(text))
	}
	x := explored(t, text)
	if x.Density == nil || len(x.Density.Held) != 8 || len(x.Detail) == 0 {
		t.Fatal("nothing tells of what is not shown op by op")
	}
	accepted := 0
	for _, n := range x.Density.Accepted {
		accepted += n
	}
	if int64(accepted) != v.Stats.Accepted {
		t.Errorf("the density counts %d accepted writes of %d", accepted, v.Stats.Accepted)
	}
	told := x.Violations[x.Told-1]
	inside := false
	for _, d := range x.Detail {
		inside = inside || d[0] <= told.From && told.To <= d[1]
	}
	if !inside {
		t.Errorf("the violation that is told, at %d µs, is not shown op by op: %v", told.At, x.Detail)
	}
	stale := 0
	for _, w := range x.Writes {
		if w[3] == 2.0 {
			stale++
		}
	}
	if stale != 40 {
		t.Errorf("%d stale writes of 40 are shown", stale)
	}
}

// TestExplored checks the data against what the history holds: nothing is lost where all fits.
func TestExplored(t *testing.T) {
	s := reporttest.CorruptedCase()
	x := explored(t, reportOf(t, s))
	acquires, writes, reads := 0, 0, 0
	for _, e := range s.History.Events {
		switch {
		case e.Type != history.Invoke:
		case e.Kind == history.Acquire:
			acquires++
		case e.Kind == history.Write:
			writes++
		case e.Kind == history.Read, e.Kind == history.Release:
			reads++
		}
	}
	if len(x.Holds) != acquires || len(x.Waits) != acquires || len(x.Writes) != writes || len(x.Marks) != reads ||
		x.Detail != nil || x.Density != nil {
		t.Errorf("%d holds, %d waits, %d writes, %d marks of %d, %d, %d, %d", len(x.Holds), len(x.Waits), len(x.Writes),
			len(x.Marks), acquires, acquires, writes, reads)
	}
	count := 0
	for _, p := range s.Verdict.Properties {
		count += p.Count
	}
	if len(x.Violations) != count || len(x.Faults) != 4 || x.Told == 0 {
		t.Errorf("%d violations of %d, %d faults of 4, told %d", len(x.Violations), count, len(x.Faults), x.Told)
	}
	for _, v := range x.Violations {
		if v.At < v.Story[0] || v.At > v.Story[1] || v.From == 0 && (v.At < v.View[0] || v.At > v.View[1]) ||
			v.From != 0 && (v.From < v.View[0] || v.To > v.View[1]) {
			t.Errorf("the violation at %d is outside of its own story %v or view %v", v.At, v.Story, v.View)
		}
	}
	at := int64(0)
	for i, row := range x.Holds {
		at += int64(row[0].(float64))
		if at < 0 || at > x.End {
			t.Fatalf("hold %d at %d µs of %d", i, at, x.End)
		}
	}
}

// BenchmarkLongRun renders the page of 100,000 ops: it is to take less than a second.
func BenchmarkLongRun(b *testing.B) {
	h, v := longRun()
	s := reporttest.Scenario("redis-setnx/pause-holder/unfenced", h, v)
	for b.Loop() {
		if err := WriteScenario(io.Discard, s); err != nil {
			b.Fatal(err)
		}
	}
}
