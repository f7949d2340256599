package runs

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// TestPacer: a hand-over lasts from the call of a release to the grant to
// another client, and a probe's is none.
func TestPacer(t *testing.T) {
	p := newPacer(0)
	watch := p.watch()
	at := int64(0)
	tell := func(after time.Duration, kind history.Kind, what history.Type, client int32) {
		at += int64(after)
		watch(&history.Event{Time: at, Type: what, Kind: kind, Client: client})
	}
	turn := func(client int32, waits bool, idle time.Duration) {
		if waits {
			tell(time.Second, history.Acquire, history.Invoke, client)
			tell(time.Second, history.Release, history.Invoke, 3-client)
			tell(idle, history.Acquire, history.OK, client)
			return
		}
		tell(time.Second, history.Release, history.Invoke, 3-client)
		tell(idle, history.Acquire, history.Invoke, client)
		tell(0, history.Acquire, history.OK, client)
	}
	tell(1, history.Acquire, history.Invoke, 1)
	tell(1, history.Acquire, history.OK, 1) // nobody had it before
	turn(2, true, time.Second)
	if got := p.of(); got != (scenarios.Pace{}) {
		t.Errorf("%+v, after one hand-over", got)
	}
	tell(time.Second, history.Release, history.Invoke, 2)
	tell(time.Second, history.Acquire, history.OK, 2) // the same client once more
	turn(1, false, 3*time.Second)
	for i := range int32(paceHandovers - 3) {
		turn(2-i%2, true, 2*time.Second)
	}
	select {
	case <-p.known:
		t.Errorf("known after %d hand-overs", p.pace.Measured)
	default:
	}
	turn(1, true, 2*time.Second)
	p.await(t.Context())
	want := scenarios.Pace{Handover: scenarios.Duration(2 * time.Second), Measured: paceHandovers, Waited: paceHandovers - 1}
	if got := p.of(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	watch(&history.Event{Time: at, Type: history.Mark, Text: history.PhaseQuiet})
	turn(2, true, time.Hour)
	if got := p.of(); got != want {
		t.Errorf("%+v, after a probe", got)
	}
}

// TestPacerOf: the first attack is measured that disturbs nothing while several
// clients always want one key.
func TestPacerOf(t *testing.T) {
	wanted := scenarios.Scenario{Keys: 1, TTL: 100,
		Workload: scenarios.Workload{Kind: "counter", Think: scenarios.Range{Min: 2, Max: 5},
			Rest: scenarios.Range{Min: 1, Max: 3}, AcquireTimeout: 400}}
	with := func(change func(*scenarios.Scenario)) scenarios.Plan {
		s := wanted
		change(&s)
		return scenarios.Plan{Scenario: s}
	}
	plans := []scenarios.Plan{with(func(s *scenarios.Scenario) { s.Keys = 3 }),
		with(func(s *scenarios.Scenario) { s.Workload.Kind = "relay" }),
		with(func(s *scenarios.Scenario) { s.Workload.AcquireTimeout = 30 }),
		with(func(s *scenarios.Scenario) { s.Workload.Rest.Max = 300 }),
		with(func(s *scenarios.Scenario) { s.Workload.Readers = 0.5 }),
		with(func(s *scenarios.Scenario) { s.Faults = []scenarios.Fault{{Kind: "kill"}} })}
	if p := pacerOf(plans, []int{0, 1, 2, 3, 4, 5}); p != nil {
		t.Errorf("plan %d is measured", p.plan)
	}
	plans = append(plans, scenarios.Plan{Scenario: wanted}, scenarios.Plan{Scenario: wanted})
	if p := pacerOf(plans, []int{5, 4, 7, 6, 0}); p == nil || p.plan != 7 {
		t.Errorf("%+v is measured, not the first in the order", p)
	}
	var none *pacer
	none.await(t.Context()) // returns
	if got := none.of(); got.Measured > 0 {
		t.Errorf("%+v of nothing", got)
	}
}

// TestPointless: an attack whose fault has met nobody is not made again on a
// calm machine, unless its clients did too little for that.
func TestPointless(t *testing.T) {
	s := &Run{Exam: &reports.Exam{}}
	plan := scenarios.Plan{Scenario: scenarios.Scenario{Needs: scenarios.Needs{Grants: 6, Handovers: 2, Bites: 2}}}
	for _, c := range []struct {
		name   string
		grants int64
		bites  int
		calm   bool
		again  bool
	}{
		{"it met nobody", 6, 0, true, false},
		{"it met nobody on a busy machine", 6, 0, false, true},
		{"it met somebody once", 6, 1, true, true},
		{"too few grants", 5, 0, true, true},
	} {
		sc := reports.Scenario{Verdict: checker.Verdict{Outcome: checker.Inconclusive,
			Stats: checker.Stats{Grants: c.grants, Bites: c.bites}}}
		if why := s.Spoilt(plan, sc, c.calm); (why != "") != c.again {
			t.Errorf("%s: again: %q", c.name, why)
		}
	}
}

// TestOverdue: an attack that does not fit into what is left of the budget is
// not begun, and is named as left out.
func TestOverdue(t *testing.T) {
	exam := &reports.Exam{Lock: "any", Budget: time.Minute}
	exam.Leave("stop-work", "about 2 min")
	s := &Run{Exam: exam, began: time.Now().Add(-30 * time.Second), Screen: screen.New(io.Discard)}
	s.late = s.overdue
	s.Plans = []scenarios.Plan{{Scenario: scenarios.Scenario{Attack: "kill-work", Duration: scenarios.Duration(20 * time.Second)}}}
	if why := s.overdue(s.Plans[0]); why != "" {
		t.Error(why)
	}
	if s.hasTime(0, 2) {
		t.Error("there is no time for a try that is twice as long")
	}
	s.began = s.began.Add(-20 * time.Second)
	why := s.overdue(s.Plans[0])
	if why != "left out by --budget: needs about 23 s" {
		t.Errorf("%q", why)
	}
	s.began = time.Now()
	s.Screen.Lengths.Add(s.Plans[0], 69*time.Second) // for 23 s it took three times as long
	if slow := s.overdue(s.Plans[0]); slow != "left out by --budget: needs about 69 s" {
		t.Errorf("on a busy machine: %q", slow)
	}
	r := Record{Exam: exam}
	suite := r.Together([]Judged{{Scenario: reports.Scenario{Name: "any/nothing-work/unfenced", Fault: "nothing-work"}},
		{Scenario: reports.Scenario{Fault: "kill-work", Skipped: why}, late: true}})
	if len(suite.Scenarios) != 1 || len(suite.Exam.Left) != 2 || suite.Exam.Left[1] != (reports.LeftOut{Attack: "kill-work", Why: why}) {
		t.Errorf("%+v", suite)
	}
	if len(exam.Left) != 1 {
		t.Error("what is told later has changed the record")
	}
	if told := strings.Join(suite.Exam.NotMade(), "\n"); told != "left out by --budget: needs about 2 min: stop-work\n"+why+": kill-work" {
		t.Error(told)
	}
}

// TestLeft: what is left takes as long as the attacks that have run tell, and so many at once.
func TestLeft(t *testing.T) {
	now := time.Now()
	s := &Run{began: now.Add(-100 * time.Second), Screen: screen.New(io.Discard), Settings: Settings{Parallel: 24}}
	twenty := scenarios.Plan{Scenario: scenarios.Scenario{Duration: scenarios.Duration(20*time.Second - scenarios.Overhead)}}
	for range 10 {
		s.Plans = append(s.Plans, twenty)
		s.record.Scenarios = append(s.record.Scenarios, ScenarioRecord{State: StateWaiting})
	}
	if left := s.left(now); left != 200*time.Second {
		t.Errorf("before one has begun: %v", left)
	}
	for i := range 4 { // two at once, each for twice as long as it should take
		s.record.Scenarios[i] = ScenarioRecord{State: StateEnded, Elapsed: 40 * time.Second}
		s.Screen.Lengths.Add(s.Plans[i], 40*time.Second)
	}
	s.record.Scenarios[4] = ScenarioRecord{State: StateRunning, Began: now.Add(-40 * time.Second)}
	if left := s.left(now); left != 120*time.Second {
		t.Errorf("six of 40 s, two at once: %v", left)
	}
	for i := range s.record.Scenarios {
		s.record.Scenarios[i] = ScenarioRecord{State: StateEnded, Elapsed: 40 * time.Second}
	}
	if left := s.left(now); left != 0 {
		t.Errorf("when all have ended: %v", left)
	}
}

// TestAtOnce: the longer the lease, the more attacks run side by side while the
// machine is calm. A number that the user gives stands.
func TestAtOnce(t *testing.T) {
	seconds := func(n float64) scenarios.Duration { return scenarios.Duration(n * float64(time.Second)) }
	calm := Settings{Steady: DefaultParallel(), Parallel: IdleParallel()}
	if got := calm.AtOnce(seconds(0.5)); got != IdleParallel() {
		t.Errorf("%d at once with a usual lease, not %d", got, IdleParallel())
	}
	last := 0
	for _, lease := range []float64{0.1, 0.5, 2, 15, 61} {
		got := calm.AtOnce(seconds(lease))
		if got < last || got > 64 {
			t.Errorf("%d at once with a lease of %v s, %d with a shorter one", got, lease, last)
		}
		last = got
	}
	if last <= IdleParallel() && IdleParallel() < 24 {
		t.Errorf("%d at once with a long lease", last)
	}
	if got := (Settings{Parallel: 3}).AtOnce(seconds(61)); got != 3 {
		t.Errorf("%d at once, where the user says 3", got)
	}
}
