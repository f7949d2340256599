package page

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports/reporttest"
	"golang.org/x/net/html"
)

// TestDeadlockIsNoDoubleHold: the two clients of a deadlock hold a key each,
// whatever stalled one of them meanwhile.
func TestDeadlockIsNoDoubleHold(t *testing.T) {
	s := reporttest.NewScene("transfer", reporttest.Lease)
	a := s.Acquire(1, 0, 1)
	b := s.Call(history.Event{Kind: history.Acquire, Client: 2, Key: 1}, 0, 1)
	s.Call(history.Event{Kind: history.Acquire, Client: 1, Key: 1, Type: history.Fail, Busy: true}, 2, 470)
	s.Call(history.Event{Kind: history.Acquire, Client: 2, Type: history.Fail, Busy: true}, 3, 470)
	for _, phase := range []string{"begin", "end"} {
		s.Events = append(s.Events, history.Event{Type: history.Fault, Time: 1471 * reporttest.Ms,
			Fault: &history.FaultInfo{ID: 1, Kind: "stall", Phase: phase, Clients: []int32{1},
				From: 1400 * reporttest.Ms, To: 1460 * reporttest.Ms, Bit: true}})
	}
	s.Call(history.Event{Kind: history.Release, Client: 1, Grant: a}, 472, 473)
	s.Call(history.Event{Kind: history.Release, Client: 2, Grant: b, Key: 1}, 472, 473)
	s.Events = append(s.Events, history.Event{Type: history.Watermark, Time: 9000 * reporttest.Ms,
		Start: 9000 * reporttest.Ms}, history.Event{Type: history.End, Time: 9000 * reporttest.Ms})
	v := checker.Judge(&s.History, checker.Options{})
	if v.Property(checker.Deadlock).Outcome != checker.Violated || v.Property(checker.MutualExclusion).Outcome == checker.Violated {
		t.Fatalf("%+v", v.Properties)
	}
	page := html.UnescapeString(reportOf(t, reporttest.Scenario("a-lock/transfer/unordered", &s.History, v)))
	for _, wrong := range []string{"Now there are two", "no longer its own", "goes on as the holder"} {
		if strings.Contains(page, wrong) {
			t.Errorf("the page says %q of a deadlock", wrong)
		}
	}
}

// TestNoStory: what only the whole run shows has no steps, and is shown where it happened.
func TestNoStory(t *testing.T) {
	for _, x := range reporttest.Scenes {
		if x.Property != checker.Herd {
			continue
		}
		s := x.Make()
		s.Events = append(s.Events, history.Event{Type: history.End, Time: 9000 * reporttest.Ms})
		v := checker.Judge(&s.History, checker.Options{})
		page := reportOf(t, reporttest.Scenario("a-lock/stampede/unfenced", &s.History, v))
		if strings.Contains(page, "What happened") {
			t.Error("a story without a step")
		}
		if !strings.Contains(page, "around the herd violation") || strings.Contains(page, ">-") {
			t.Error("the timeline shows no window on the violation")
		}
	}
}

// TestKilledHolderKeepsKey: the story of a stuck lock tells who died with the
// key, and nobody goes on after that.
func TestKilledHolderKeepsKey(t *testing.T) {
	claims := reporttest.Lease
	claims.NoExpiry = true
	s := reporttest.NewScene("counter", claims)
	s.Acquire(1, 0, 1)
	for _, phase := range []string{"begin", "end"} {
		s.Events = append(s.Events, history.Event{Type: history.Fault, Time: 1012 * reporttest.Ms,
			Fault: &history.FaultInfo{ID: 1, Kind: "kill", Phase: phase, Clients: []int32{1},
				From: 1010 * reporttest.Ms, To: 1011 * reporttest.Ms, Injected: true, Bit: true, Evidence: "pid 7 ended by SIGKILL"}})
	}
	s.Events = append(s.Events, history.Event{Type: history.Exit, Client: 1, Process: 1, Time: 1013 * reporttest.Ms,
		Start: 1012 * reporttest.Ms},
		history.Event{Type: history.Mark, Text: history.PhaseProbe, Time: 1100 * reporttest.Ms})
	s.Call(history.Event{Kind: history.Acquire, Client: 4, Type: history.Fail, Busy: true}, 101, 4000)
	s.Events = append(s.Events, history.Event{Type: history.Watermark, Time: 9000 * reporttest.Ms,
		Start: 9000 * reporttest.Ms}, history.Event{Type: history.End, Time: 9000 * reporttest.Ms})
	v := checker.Judge(&s.History, checker.Options{})
	if v.Property(checker.StuckLock).Outcome != checker.Violated {
		t.Fatalf("%+v", v.Property(checker.StuckLock))
	}
	page := html.UnescapeString(reportOf(t, reporttest.Scenario("a-lock/kill-holder/unfenced", &s.History, v)))
	for _, want := range []string{"A key could not be acquired though nobody could hold it", "client 1 is killed", "without an expiry"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, wrong := range []string{"client 1 goes on", "good for 500 ms", "lease of grant"} {
		if strings.Contains(page, wrong) {
			t.Errorf("the page says %q", wrong)
		}
	}
}
