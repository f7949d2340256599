package director

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// stage is a run without processes: faults are injected into a list, and nothing else is there.
type stage struct {
	*Director
	rec  *history.Recorder
	file bytes.Buffer

	mu    sync.Mutex
	acts  []string // "pause begins", "pause ends", in their order
	fails string   // the kind of fault that can't be injected
}

// staged makes a director of one client that is struck by the faults.
func staged(t *testing.T, faults ...scenarios.Fault) *stage {
	t.Helper()
	s := &stage{}
	var err error
	if s.rec, err = history.NewRecorder(&s.file, history.Header{Format: history.FormatVersion, Origin: 1},
		[]string{"k0"}, monotime.Now); err != nil {
		t.Fatal(err)
	}
	s.Director, err = New(Setting{Plan: scenarios.Plan{Scenario: scenarios.Scenario{Clients: 1, Faults: faults,
		TTL: scenarios.Duration(time.Second)}}, Recorder: s.rec, IDs: &wire.Numbers{}, Inject: s.inject,
		Far: map[int32]nemesis.Place{1: {Name: "client-1"}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stage) inject(_ context.Context, at nemesis.Site) (nemesis.InEffect, error) {
	if at.Kind == s.fails {
		return nil, errors.New("no such thing")
	}
	s.note(at.Kind + " begins")
	if at.Waits() {
		return &trapAct{act{s, at.Kind, 0}, len(s.noted()) > 1}, nil
	}
	return &act{s, at.Kind, monotime.Now()}, nil
}

func (s *stage) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acts = append(s.acts, what)
}

func (s *stage) noted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.acts)
}

// act is a fault in effect.
type act struct {
	s    *stage
	kind string
	from int64
}

func (a *act) From() int64 { return a.from }

func (a *act) Heal() (nemesis.Effect, error) {
	a.s.note(a.kind + " ends")
	return nemesis.Effect{From: a.from, To: monotime.Now(), Bit: true}, nil
}

// trapAct is a fault that waits for a packet. The first one of a stage waits in vain.
type trapAct struct {
	act
	springs bool
}

func (a *trapAct) Watch(_ context.Context, done func(sprung bool)) (giveUp func()) {
	if a.springs {
		a.from = monotime.Now()
	}
	go done(a.springs)
	return func() {}
}

func (a *trapAct) Met() bool { return false }

func (a *trapAct) Kill(context.Context) (nemesis.Effect, error) { return a.Heal() }

// TestTrapAtARandomMomentIsLaidAgain: where no packet has come, the fault looks for a holder again.
func TestTrapAtARandomMomentIsLaidAgain(t *testing.T) {
	s := staged(t, scenarios.Fault{Kind: nemesis.KindHold, Target: "holder", When: "random", Request: "write", For: ms})
	ends, stop := make(chan error, 1), make(chan struct{})
	if err := s.Holds(t.Context(), 1, "k0", 1); err != nil {
		t.Fatal(err)
	}
	s.Begin(t.Context(), stop, func(err error) { ends <- err })
	want := []string{"hold begins", "hold ends", "hold begins", "hold ends"}
	decided.Await(t, "every event is noted", func() bool { return len(s.noted()) >= len(want) })
	close(stop)
	if got, err := s.noted()[:len(want)], <-ends; err != nil || !slices.Equal(got, want) { // then it begins anew
		t.Errorf("%q, want %q; %v", got, want, err)
	}
}

const ms = scenarios.Duration(time.Millisecond)

// pauseAndJump strike together. The jump is planned to end long before the pause.
func pauseAndJump() scenarios.Fault {
	return scenarios.Fault{Target: "holder", When: "after-grant", Together: []scenarios.Fault{
		{Kind: nemesis.KindClockJump, Clock: "wall", By: scenarios.Offset(time.Hour), For: ms},
		{Kind: nemesis.KindPause, For: 50 * ms}}}
}

// strikeAt has the first fault strike a client, and returns the end of its rounds.
func (s *stage) strikeAt(t *testing.T, m nemesis.Moment) (ended <-chan error, struck error) {
	t.Helper()
	ends, stop := make(chan error, len(s.faults)), make(chan struct{})
	s.Begin(t.Context(), stop, func(err error) { ends <- err })
	decided.Await(t, "the fault is armed", func() bool { return s.armed(s.faults[0]) })
	struck = s.Reached(t.Context(), nemesis.Step{Moment: m, Client: 1, Grant: 1, Key: "k0"})
	close(stop)
	return ends, struck
}

// TestClocksAreSetRightWhenNobodyIsStopped: code in the process itself does that, so a jump that
// strikes together with a pause ends after it, however short it is planned.
func TestClocksAreSetRightWhenNobodyIsStopped(t *testing.T) {
	s := staged(t, pauseAndJump())
	ended, struck := s.strikeAt(t, nemesis.AfterGrant)
	if err := errors.Join(struck, <-ended, s.rec.Close()); err != nil {
		t.Fatal(err)
	}
	want := []string{"clock-jump begins", "pause begins", "pause ends", "clock-jump ends"}
	if got := s.noted(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if s.Struck(1) {
		t.Error("the client is struck still")
	}
}

// TestStrikeThatFailsLeavesNothing: what has begun is healed before the error is told.
func TestStrikeThatFailsLeavesNothing(t *testing.T) {
	f := pauseAndJump()
	f.Together = append(f.Together, scenarios.Fault{Kind: nemesis.KindPartition})
	for i := range f.Together {
		f.Together[i].For = scenarios.Duration(time.Hour)
	}
	s := staged(t, f)
	s.fails = nemesis.KindPause
	ended, struck := s.strikeAt(t, nemesis.AfterGrant)
	want := []string{"partition begins", "clock-jump begins", "clock-jump ends", "partition ends"}
	if got := s.noted(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if told := <-ended; struck == nil || told == nil {
		t.Errorf("the client is told %v, the run %v", struck, told)
	}
}

// TestFaultOfAGrantStrikesLater: the grant that a fault waits for may come while another fault has
// its client. It strikes when that lets go.
func TestFaultOfAGrantStrikesLater(t *testing.T) {
	s := staged(t, scenarios.Fault{Kind: nemesis.KindPartition, Target: "client-1", When: "random", For: ms,
		Grant: scenarios.Numbers{1}})
	d := s.Director
	locked := func(do func()) {
		d.mu.Lock()
		defer d.mu.Unlock()
		do()
	}
	ends, stop := make(chan error, 1), make(chan struct{})
	s.Begin(t.Context(), stop, func(err error) { ends <- err })
	decided.Await(t, "a trap waits", func() (waits bool) {
		locked(func() { waits = d.faults[0].awaits == 1 })
		return waits
	})
	locked(func() { d.struck[1] = true })
	if err := s.Holds(t.Context(), 1, "k0", 1); err != nil {
		t.Fatal(err)
	}
	if got := s.noted(); len(got) > 0 {
		t.Fatalf("%q, and another fault has the client", got)
	}
	locked(func() { delete(d.struck, 1) })
	decided.Await(t, "the partition has ended", func() bool { return slices.Contains(s.noted(), "partition ends") })
	close(stop)
	if err := <-ends; err != nil {
		t.Error(err)
	}
}
