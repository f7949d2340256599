package reports

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// scene writes a small history by hand; times in ms.
type scene struct {
	history.History
	op, seq, version int64
}

func newScene(workload string, claims history.Claims) *scene {
	s := &scene{}
	s.Keys = []string{"k0", "k1"}
	s.Header = history.Header{Lock: "a-lock", Service: "redis", Workload: workload, Clients: 3, TTL: 500 * ms, Stall: 50 * ms, Claims: claims, Store: history.Store{Engine: "sqlite"}}
	return s
}

// call records an op that ran from one instant to another, and returns its number.
func (s *scene) call(e history.Event, from, to float64) int64 {
	s.op++
	e.Op, e.Process = s.op, e.Client
	if e.Kind == history.Acquire {
		e.Grant = e.Op
	}
	at := func(t float64) int64 { return int64((1000 + t) * float64(ms)) }
	invoke := history.Event{Type: history.Invoke, Kind: e.Kind, Op: e.Op, Grant: e.Grant, Client: e.Client, Process: e.Process, Key: e.Key, Time: at(from)}
	e.Time, e.Start, e.End = at(to), at(from), at(to)
	if e.Type == history.TypeNone {
		e.Type = history.OK
	}
	if e.Kind == history.Write {
		s.seq++
		s.version++
		e.Version, e.Replaced = s.version, s.version-1
		entry := e
		entry.Type, entry.Seq, entry.Start, entry.End = history.Ledger, s.seq, 0, 0
		s.Events = append(s.Events, invoke, entry, e)
		return e.Op
	}
	s.Events = append(s.Events, invoke, e)
	return e.Op
}

func (s *scene) acquire(client int32, from, to float64) int64 {
	return s.call(history.Event{Kind: history.Acquire, Client: client}, from, to)
}

var lease = history.Claims{Validity: "from_invocation", Token: "none", Permits: 1, Confirms: []string{"release", "held"}}

// scenes are one violation of each property that the simulation does not violate.
var scenes = []struct {
	property string
	make     func() *scene
}{
	{checker.DuplicateEffect, func() *scene {
		s := newScene("payment", lease)
		a, b := s.acquire(1, 0, 1), s.acquire(2, 600, 601)
		s.call(history.Event{Kind: history.Write, Client: 2, Grant: b, Value: 1}, 604, 605)
		s.call(history.Event{Kind: history.Write, Client: 1, Grant: a, Value: 1}, 701, 702)
		return s
	}},
	{checker.Continuity, func() *scene {
		s := newScene("counter", lease)
		a := s.acquire(1, 0, 1)
		s.acquire(2, 600, 601)
		s.call(history.Event{Kind: history.Held, Client: 1, Grant: a}, 700, 701)
		return s
	}},
	{checker.DeadGrant, func() *scene {
		s := newScene("counter", lease)
		s.call(history.Event{Kind: history.Acquire, Client: 1, Attempt: 1000 * ms}, 0, 601)
		return s
	}},
	{checker.DeadRenewal, func() *scene {
		claims := lease
		claims.Confirms = []string{"renew"}
		s := newScene("counter", claims)
		a := s.acquire(1, 0, 1)
		s.call(history.Event{Kind: history.Renew, Client: 1, Grant: a, Attempt: 1400 * ms}, 400, 1001)
		return s
	}},
	{checker.StolenRelease, func() *scene {
		s := newScene("counter", lease)
		a := s.acquire(1, 0, 1)
		s.acquire(2, 510, 511)
		s.call(history.Event{Kind: history.Release, Client: 1, Grant: a}, 601, 602)
		s.acquire(3, 603, 604)
		return s
	}},
	{checker.FalseBusy, func() *scene {
		s := newScene("counter", lease)
		a := s.acquire(1, 0, 1)
		s.call(history.Event{Kind: history.Release, Client: 1, Grant: a}, 10, 11)
		s.call(history.Event{Kind: history.Acquire, Client: 2, Type: history.Fail, Busy: true}, 20, 90)
		return s
	}},
	{checker.FIFO, func() *scene {
		claims := lease
		claims.Fair = true
		s := newScene("queue", claims)
		b := history.Event{Kind: history.Acquire, Client: 2, Enqueued: 1003 * ms, First: 1038 * ms}
		s.op++ // the waiter's number; its answer comes last
		s.Events = append(s.Events, history.Event{Type: history.Invoke, Kind: b.Kind, Client: 2, Process: 2, Op: 1, Grant: 1, Time: 1002 * ms})
		c := s.acquire(3, 4, 20)
		s.call(history.Event{Kind: history.Release, Client: 3, Grant: c}, 30, 31)
		b.Type, b.Op, b.Grant, b.Process, b.Time, b.Start, b.End = history.OK, 1, 1, 2, 1040*ms, 1002*ms, 1040*ms
		s.Events = append(s.Events, b)
		return s
	}},
	{checker.Starvation, func() *scene {
		s := newScene("queue", lease)
		s.op++
		s.Events = append(s.Events, history.Event{Type: history.Invoke, Kind: history.Acquire, Client: 1, Process: 1, Op: 1, Grant: 1, Time: 1000 * ms})
		for i := range 31 {
			from := float64(2 + 10*i)
			g := s.acquire(int32(2+i%2), from, from+1)
			s.call(history.Event{Kind: history.Release, Client: int32(2 + i%2), Grant: g}, from+2, from+3)
		}
		s.Events = append(s.Events, history.Event{Type: history.Fail, Busy: true, Kind: history.Acquire, Client: 1, Process: 1, Op: 1, Grant: 1, Time: 1400 * ms, Start: 1000 * ms, End: 1400 * ms})
		return s
	}},
	{checker.Deadlock, func() *scene {
		s := newScene("transfer", lease)
		s.acquire(1, 0, 1)
		s.call(history.Event{Kind: history.Acquire, Client: 2, Key: 1}, 0, 1)
		s.call(history.Event{Kind: history.Acquire, Client: 1, Key: 1, Type: history.Fail, Busy: true}, 2, 403)
		s.call(history.Event{Kind: history.Acquire, Client: 2, Type: history.Fail, Busy: true}, 3, 404)
		return s
	}},
	{checker.Herd, func() *scene {
		claims := lease
		claims.WakesOne = true
		s := newScene("stampede", claims)
		s.Header.Clients = 60
		s.Events = append(s.Events, history.Event{Type: history.Count, Text: history.CountRequests, Time: 1000 * ms, Value: 100})
		for i := range 20 {
			from := float64(2 + 10*i)
			g := s.acquire(int32(1+i), from, from+1)
			s.call(history.Event{Kind: history.Release, Client: int32(1 + i), Grant: g}, from+2, from+3)
		}
		s.Events = append(s.Events, history.Event{Type: history.Count, Text: history.CountRequests, Time: 1210 * ms, Value: 2500})
		return s
	}},
}

// TestPropertiesInWords holds what a page says of each property to what was last read. After a change: go test ./reports -update, and read again.
func TestPropertiesInWords(t *testing.T) {
	var out strings.Builder
	for _, x := range scenes {
		s := x.make()
		s.Events = append(s.Events, history.Event{Type: history.Watermark, Time: 9000 * ms, Start: 9000 * ms}, history.Event{Type: history.End, Time: 9000 * ms})
		v := checker.Judge(&s.History, checker.Options{})
		if r := v.Property(x.property); r == nil || r.Outcome != checker.Violated {
			t.Fatalf("%s: %+v", x.property, r)
		}
		// The page of a run in which nothing else was found.
		for i := range v.Properties {
			if p := &v.Properties[i]; p.Name != x.property && p.Outcome == checker.Violated {
				p.Outcome, p.Count, p.Violations = checker.Pass, 0, nil
			}
		}
		scene := scenario("a-lock/none/unfenced", &s.History, v)
		page := html.UnescapeString(reportOf(t, scene))
		r := newRecord(&s.History, v)
		told := r.retell(scene, &v.Property(x.property).Violations[0], nil)
		title := headline(scene, &told).String()
		lede, _ := lede(scene, r, &told)
		fmt.Fprintf(&out, "%s: %s\n  demands: %s\n  %s\n", x.property, title, checker.Named(x.property).Words.Demands, lede)
		for _, m := range told.Moments {
			fmt.Fprintf(&out, "  - %s %s\n", at(m.At), m.Text)
		}
		for _, p := range advice(scene, &s.Header, &told) {
			fmt.Fprintf(&out, "  > %s %s\n", p.Lead, p.Text)
		}
		out.WriteString("\n")
		for _, part := range []string{title, checker.Named(x.property).Words.Demands} {
			if !strings.Contains(page, part) {
				t.Errorf("%s: the page does not say %q", x.property, part)
			}
		}
	}
	const path = "testdata/properties.golden.txt"
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != out.String() {
		t.Errorf("the words have changed; got\n%s\nwant\n%s", out.String(), want)
	}
	for _, p := range checker.Properties() {
		if checker.Named(p.Name).Words.Demands == "" {
			t.Errorf("%s has no words", p.Name)
		}
	}
}

// TestDeadlockIsNoDoubleHold: the two clients of a deadlock hold a key each, whatever stalled one of them meanwhile.
func TestDeadlockIsNoDoubleHold(t *testing.T) {
	s := newScene("transfer", lease)
	a := s.acquire(1, 0, 1)
	b := s.call(history.Event{Kind: history.Acquire, Client: 2, Key: 1}, 0, 1)
	s.call(history.Event{Kind: history.Acquire, Client: 1, Key: 1, Type: history.Fail, Busy: true}, 2, 470)
	s.call(history.Event{Kind: history.Acquire, Client: 2, Type: history.Fail, Busy: true}, 3, 470)
	for _, phase := range []string{"begin", "end"} {
		s.Events = append(s.Events, history.Event{Type: history.Fault, Time: 1471 * ms, Fault: &history.FaultInfo{ID: 1, Kind: "stall", Phase: phase, Clients: []int32{1},
			From: 1400 * ms, To: 1460 * ms, Bit: true}})
	}
	s.call(history.Event{Kind: history.Release, Client: 1, Grant: a}, 472, 473)
	s.call(history.Event{Kind: history.Release, Client: 2, Grant: b, Key: 1}, 472, 473)
	s.Events = append(s.Events, history.Event{Type: history.Watermark, Time: 9000 * ms, Start: 9000 * ms}, history.Event{Type: history.End, Time: 9000 * ms})
	v := checker.Judge(&s.History, checker.Options{})
	if v.Property(checker.Deadlock).Outcome != checker.Violated || v.Property(checker.MutualExclusion).Outcome == checker.Violated {
		t.Fatalf("%+v", v.Properties)
	}
	page := html.UnescapeString(reportOf(t, scenario("a-lock/transfer/unordered", &s.History, v)))
	for _, wrong := range []string{"Now there are two", "no longer its own", "goes on as the holder"} {
		if strings.Contains(page, wrong) {
			t.Errorf("the page says %q of a deadlock", wrong)
		}
	}
}

// TestNoStory: what only the whole run shows has no steps, and is shown where it happened.
func TestNoStory(t *testing.T) {
	for _, x := range scenes {
		if x.property != checker.Herd {
			continue
		}
		s := x.make()
		s.Events = append(s.Events, history.Event{Type: history.End, Time: 9000 * ms})
		v := checker.Judge(&s.History, checker.Options{})
		page := reportOf(t, scenario("a-lock/stampede/unfenced", &s.History, v))
		if strings.Contains(page, "What happened") {
			t.Error("a story without a step")
		}
		if !strings.Contains(page, "around the herd violation") || strings.Contains(page, ">-") {
			t.Error("the timeline shows no window on the violation")
		}
	}
}

// TestKilledHolderKeepsKey: the story of a stuck lock tells who died with the key, and nobody goes on after that.
func TestKilledHolderKeepsKey(t *testing.T) {
	claims := lease
	claims.NoExpiry = true
	s := newScene("counter", claims)
	s.acquire(1, 0, 1)
	for _, phase := range []string{"begin", "end"} {
		s.Events = append(s.Events, history.Event{Type: history.Fault, Time: 1012 * ms, Fault: &history.FaultInfo{ID: 1, Kind: "kill", Phase: phase, Clients: []int32{1},
			From: 1010 * ms, To: 1011 * ms, Injected: true, Bit: true, Evidence: "pid 7 ended by SIGKILL"}})
	}
	s.Events = append(s.Events, history.Event{Type: history.Exit, Client: 1, Process: 1, Time: 1013 * ms, Start: 1012 * ms},
		history.Event{Type: history.Mark, Text: history.PhaseProbe, Time: 1100 * ms})
	s.call(history.Event{Kind: history.Acquire, Client: 4, Type: history.Fail, Busy: true}, 101, 4000)
	s.Events = append(s.Events, history.Event{Type: history.Watermark, Time: 9000 * ms, Start: 9000 * ms}, history.Event{Type: history.End, Time: 9000 * ms})
	v := checker.Judge(&s.History, checker.Options{})
	if v.Property(checker.StuckLock).Outcome != checker.Violated {
		t.Fatalf("%+v", v.Property(checker.StuckLock))
	}
	page := html.UnescapeString(reportOf(t, scenario("a-lock/kill-holder/unfenced", &s.History, v)))
	for _, want := range []string{"A key stayed locked though nobody could hold it", "client 1 is killed", "without an expiry"} {
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

// Every pattern is explained to newcomers.
func TestEveryPatternIsExplained(t *testing.T) {
	for _, p := range checker.Patterns() {
		if patternMeans[p.Name] == "" {
			t.Errorf("%s is not explained", p.Name)
		}
	}
	if len(patternMeans) != len(checker.Patterns()) {
		t.Error("what is explained is no pattern")
	}
}
