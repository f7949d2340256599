package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/policy"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/pick"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// try is what one try of an attack records. A machine that stalls when a test wants it to can't be
// had, so these are written.
type try struct {
	double bool  // two clients hold the key at once
	leased bool  // the lock promises its lease, so that a double-hold is a defect for certain
	stall  int64 // when the service stalls (ms); 0: never
	ours   bool  // the stall was planned and injected
	cut    bool  // the history has no end
}

const milli = int64(time.Millisecond)

// history is the record of the try, of a lock with a lease of 500 ms: client 1 holds from 1001 to
// 1050 ms, client 2 beside it or after it.
func (y try) history() *history.History {
	h := &history.History{Keys: []string{"k0"}, Header: history.Header{Format: history.FormatVersion,
		Lock: "redis-setnx", Service: "redis", Workload: "counter", Guard: "none", Clients: 2,
		TTL: 500 * milli, Stall: 50 * milli, Claims: history.Claims{Token: "none", Permits: 1}}}
	if y.leased {
		h.Header.Claims.Validity = "from_invocation"
	}
	ops := int64(0)
	do := func(client int32, kind history.Kind, grant, at int64) int64 {
		ops++
		if grant == 0 {
			grant = ops
		}
		e := history.Event{Type: history.Invoke, Kind: kind, Time: at * milli, Op: ops, Grant: grant, Client: client,
			Process: client}
		h.Events = append(h.Events, e)
		e.Type, e.Time, e.Start, e.End = history.OK, e.Time+milli, e.Time+milli/4, e.Time+milli/2
		h.Events = append(h.Events, e)
		return grant
	}
	stall := func() {
		f := history.FaultInfo{ID: 1, Kind: history.KindMachineStall, Phase: "begin", Hosts: []string{"redis-1"},
			Service: true, Injected: y.ours, From: y.stall * milli, Touch: &history.MachineStall}
		if y.ours {
			f.Plan = 1
		}
		begin, end := f, f
		end.Phase, end.To, end.Bit = "end", (y.stall+60)*milli, true
		h.Events = append(h.Events, history.Event{Type: history.Fault, Time: end.To, Fault: &begin},
			history.Event{Type: history.Fault, Time: end.To, Fault: &end})
	}
	first := do(1, history.Acquire, 0, 1000)
	if y.double {
		second := do(2, history.Acquire, 0, 1020)
		do(1, history.Read, first, 1040)
		do(2, history.Read, second, 1050)
		do(2, history.Release, second, 1060)
	}
	do(1, history.Release, first, 1070)
	if y.stall > 0 {
		stall()
	}
	mark := func(phase string, at int64) {
		h.Events = append(h.Events, history.Event{Type: history.Mark, Time: at * milli, Text: phase})
	}
	for i, phase := range []string{history.PhaseProbe, history.PhaseFinal} {
		fresh, at := int32(3+i), 7000+1000*int64(i)
		mark(phase, at)
		do(fresh, history.Release, do(fresh, history.Acquire, 0, at+100), at+200)
	}
	if !y.cut {
		end := history.Event{Type: history.End, Time: 9000 * milli, Seq: int64(len(h.Events))}
		h.Events = append(h.Events, end)
	}
	return h
}

// replayed is a runtime in which each try comes out as it is written.
type replayed struct {
	tries []try
	made  int
}

func (r *replayed) About() string              { return "replayed" }
func (r *replayed) Skip(scenarios.Plan) string { return "" }
func (r *replayed) Traits() runs.Traits        { return runs.Traits{} }
func (r *replayed) Close() error               { return nil }

func (r *replayed) Run(_ context.Context, _ scenarios.Plan, dir string, _, _ io.Writer) error {
	f, err := os.Create(filepath.Join(dir, runs.HistoryFile))
	if err != nil {
		return err
	}
	defer f.Close()
	r.made++
	return r.tries[min(r.made, len(r.tries))-1].history().Encode(f)
}

// The tries of which the tests are made.
var (
	tryStands    = try{}
	tryOpen      = try{cut: true}
	tryUnclear   = try{double: true}
	tryStalled   = try{double: true, stall: 1030}
	tryDefect    = try{double: true, leased: true}
	tryDefectToo = try{double: true, leased: true, stall: 1030}
)

// TestAttacksAreMadeAgain: what came to nothing is made again, and so is a fall that is not clear
// while the machine stalled; up to three times. A fall that is certain stands, and so does one that
// is not clear on a machine that ran.
func TestAttacksAreMadeAgain(t *testing.T) {
	for _, c := range []struct {
		name  string
		tries []try
		fate  reports.Fate
	}{
		{"it stands", []try{tryStands}, reports.Stood},
		{"unclear, and nothing stalled", []try{tryUnclear}, reports.FellUnclear},
		{"unclear, and a stall that was injected", []try{{double: true, stall: 1030, ours: true}}, reports.FellUnclear},
		{"unclear, and a stall long after", []try{{double: true, stall: 3000}}, reports.FellUnclear},
		{"unclear, and a stall a lease before", []try{{double: true, stall: 400}}, reports.FellUnclear},
		{"a stall within the lease before", []try{{double: true, stall: 600}, tryStands}, reports.Stood},
		{"stalled, then it stands", []try{tryStalled, tryStands}, reports.Stood},
		{"stalled, then nothing, then it stands", []try{tryStalled, tryOpen, tryStands}, reports.Stood},
		{"stalled three times", []try{tryStalled, tryStalled, tryStalled}, reports.FellUnclear},
		{"stalled, then a defect", []try{tryStalled, tryDefect}, reports.FellDefect},
		{"a defect stands, whatever stalled", []try{tryDefectToo}, reports.FellDefect},
		{"nothing three times", []try{tryOpen, tryOpen, tryOpen}, reports.NothingFollows},
	} {
		t.Run(c.name, func(t *testing.T) {
			sc, where, dir := makeAttack(t, c.tries, nil)
			if fate := sc.Fate(); fate != c.fate || where.made != len(c.tries) {
				t.Errorf("%d tries and %q, want %d and %q: %s %q", where.made, fate, len(c.tries), c.fate, sc.CameTo(),
					sc.Verdict.Reasons)
			}
			aside, err := filepath.Glob(filepath.Join(dir, "*.try*"))
			if err != nil || len(aside) != len(c.tries)-1 {
				t.Errorf("put aside: %v, %v", aside, err)
			}
		})
	}
}

// violated has a scenario expect a double-hold.
func violated(s *scenarios.Scenario) {
	s.Expect.Properties = map[string]string{checker.MutualExclusion: "violated", checker.LostUpdate: "any"}
}

// TestRateCountsEveryRun: where it is asked how often something is violated, a
// run that does not show it stands.
func TestRateCountsEveryRun(t *testing.T) {
	_, where, _ := makeAttack(t, []try{tryStands, tryDefect}, violated, func(s *runs.Run) { s.Exam, s.Settings.Counted = nil, true })
	if where.made != 1 {
		t.Errorf("%d runs", where.made)
	}
}

// TestSuitesAreRunAgain: a scenario of a suite that left open what is asked of
// it is run again, and so is one that does not show what it should; it says so.
// What else was decided stands, met or not.
func TestSuitesAreRunAgain(t *testing.T) {
	suite := func(s *runs.Run) { s.Exam = nil }
	for _, c := range []struct {
		name   string
		tries  []try
		change func(*scenarios.Scenario)
		met    bool
	}{
		{"it passes", []try{tryStands}, nil, true},
		{"nothing, then it passes", []try{tryOpen, tryStands}, nil, true},
		{"nothing three times", []try{tryOpen, tryOpen, tryOpen}, nil, false},
		{"nothing, then a violation", []try{tryOpen, tryDefect}, nil, false},
		{"a violation, whatever stalled", []try{tryDefectToo}, nil, false},
		{"a violation that is expected", []try{tryDefect}, violated, true},
		{"it passes three times, and should not", []try{tryStands, tryStands, tryStands}, violated, false},
		{"it passes, and then shows what it should", []try{tryStands, tryDefect}, violated, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			sc, where, _ := makeAttack(t, c.tries, c.change, suite)
			if sc.Met != c.met || where.made != len(c.tries) || len(sc.Spoilt) != len(c.tries)-1 {
				t.Errorf("%d tries, met %v, spoilt %q; want %d and %v: %s %q", where.made, sc.Met, sc.Spoilt,
					len(c.tries), c.met, sc.CameTo(), sc.Verdict.Reasons)
			}
			if told := strings.Contains(sc.Detail(), "after "); told != (len(c.tries) > 1) {
				t.Errorf("it tells %q", sc.Detail())
			}
		})
	}
}

// TestFailedOnABusyMachine: only there a failure is tried again, and only if it
// had shown no violation.
func TestFailedOnABusyMachine(t *testing.T) {
	s := &runs.Run{}
	failed := reports.Scenario{Failed: "redis-1 did not answer"}
	if s.Spoilt(scenarios.Plan{}, failed, false) == "" || s.Spoilt(scenarios.Plan{}, failed, true) != "" {
		t.Error("a failure is spoilt where the machine was busy, and nowhere else")
	}
	failed.Verdict.Outcome = checker.Violated
	if why := s.Spoilt(scenarios.Plan{}, failed, false); why != "" {
		t.Errorf("a violation that was recorded before the failure stands: %s", why)
	}
}

// TestGateAndExamAgree: a gate that asks for an exam passes no attack that the exam fails, also
// where theory allows the property.
func TestGateAndExamAgree(t *testing.T) {
	for _, y := range []try{tryStands, tryUnclear, tryDefect} {
		for _, allowed := range []bool{true, false} {
			allow := func(s *scenarios.Scenario) {
				if allowed {
					s.Expect.Properties = map[string]string{checker.MutualExclusion: "any"}
				}
			}
			examined, _, _ := makeAttack(t, []try{y}, allow)
			ruled, _, _ := makeAttack(t, []try{y}, allow, gated(nil))
			if fails := examined.Fate().Fails(); fails == examined.Met || fails == ruled.Met {
				t.Errorf("%+v, allowed %v: the exam says %q and met %v, the gate met %v: %+v", y, allowed, examined.Fate(),
					examined.Met, ruled.Met, ruled.Expect)
			}
		}
	}
}

// TestKnownUnclear: what a policy knows passes its gate, also where it is not clear whose affair it
// is.
func TestKnownUnclear(t *testing.T) {
	known := policy.Known{Scenario: "redis-setnx", Property: checker.MutualExclusion, Reason: "we know",
		Expires: time.Now().AddDate(1, 0, 0)}
	sc, _, _ := makeAttack(t, []try{tryUnclear}, nil, gated([]policy.Known{known}))
	if !sc.Met {
		t.Errorf("%+v", sc.Expect)
	}
}

// TestSuitesAttackIsNoExam: an attack that a policy names among the scenarios
// of a suite passes if it comes out as theory expects, clear or not.
func TestSuitesAttackIsNoExam(t *testing.T) {
	allow := func(s *scenarios.Scenario) { s.Expect.Properties = map[string]string{checker.MutualExclusion: "any"} }
	suites := func(s *runs.Run) { s.Settings.Policy.Runs[0].Exam = false }
	if sc, _, _ := makeAttack(t, []try{tryUnclear}, allow, gated(nil), suites); !sc.Met {
		t.Errorf("%+v", sc.Expect)
	}
}

// gated lets a policy rule that asks for an exam, and knows of violations.
func gated(known []policy.Known) func(*runs.Run) {
	return func(s *runs.Run) {
		run := policy.Run{Name: s.Plans[0].Scenario.Name, Demand: policy.Demand{Expected: true}, Repetitions: 1, Exam: true}
		s.Settings.Policy = &policy.Policy{Runs: []policy.Run{run}, Known: known}
	}
}

// makeAttack makes the attack nothing-work on redis-setnx, changed, as often as an exam does.
func makeAttack(t *testing.T, tries []try, change func(*scenarios.Scenario),
	with ...func(*runs.Run)) (reports.Scenario, *replayed, string) {
	t.Helper()
	table, err := attackTable(t).Only(false, []string{"nothing-work"})
	if err != nil {
		t.Fatal(err)
	}
	lock, err := pick.Examinee(ours(), "redis-setnx", 0)
	if err != nil {
		t.Fatal(err)
	}
	all, _ := table.Of(lock)
	if change != nil {
		change(&all[0])
	}
	where, dir := &replayed{tries: tries}, t.TempDir()
	s := &runs.Run{Settings: runs.Settings{Tool: ours(), Parallel: 1, Seed: 1, Retries: runs.DefaultRetries},
		Where: where, Name: "exam", Screen: screen.New(io.Discard),
		Plans: []scenarios.Plan{{Seed: 1, Scenario: all[0]}}, Exam: &reports.Exam{Lock: "redis-setnx"}}
	for _, set := range with {
		set(s)
	}
	s.Prepare(dir, time.Now())
	s.Begin()
	s.Launch(t.Context(), make(chan struct{}, 1))()
	s.Screen.Stop()
	if failed := s.Results[0].Failed; failed != "" {
		t.Fatal(strings.TrimSpace(failed))
	}
	return s.Results[0].Scenario, where, dir
}
