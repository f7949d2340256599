package nemesis

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

func subjectOf(p *hosts.Process) subject {
	return subject{Name: p.Host().Name, PIDs: p.Group, Stop: p.Stop}
}

// A throttled process runs now and then, and stands still for the rest of each
// period; afterwards it runs on.
func TestThrottleLetsThroughAShare(t *testing.T) {
	decided.Run(t, func() { throttleLetsThroughAShare(t) })
}

func throttleLetsThroughAShare(t *testing.T) {
	p, ticks := startClock(t)
	after(t, ticks, 0)
	spec := Spec{Kind: KindThrottle, Share: 0.25, Period: 40 * time.Millisecond}
	th, err := startThrottle(t.Context(), spec, subjectOf(p))
	if err != nil {
		t.Fatal(err)
	}
	// It is stopped when the throttle says that it has begun, and runs again
	// all the same: so it was stopped and continued.
	const rounds = 5
	for now := th.From(); now < th.From()+int64(rounds*spec.Period); {
		now = after(t, ticks, now)
	}
	e, err := th.Heal()
	if err != nil || !e.Bit || e.From != th.From() || e.Lasted() < rounds*spec.Period {
		t.Errorf("%+v, %v", e, err)
	}
	var times int
	if _, err := fmt.Sscanf(e.Proof, p.Host().Name+": stopped %d times", &times); err != nil {
		t.Errorf("%v: %s", err, e.Proof)
	}
	if times < rounds/2 { // of which a busy machine leaves some out
		decided.Lacks("%d stops in %d periods: %d", rounds/2, rounds, times)
	}
	if !strings.Contains(e.Proof, "ms of the processors, and") {
		t.Errorf("proof %q", e.Proof)
	}
	after(t, ticks, monotime.Now())
	states, err := hosts.States([]int{p.PID()})
	if err != nil || len(states) == 0 {
		t.Fatal(states, err)
	}
	for _, s := range states {
		if s.State == 'T' {
			t.Errorf("a thread is still stopped: %+v", s)
		}
	}
	if again, err := th.Heal(); again != e || err != nil {
		t.Errorf("healing twice: %+v, %v", again, err)
	}
}

// A throttle in the middle of a stop ends at once, and everybody goes on.
func TestThrottleEndsInAStop(t *testing.T) {
	p, ticks := startClock(t)
	after(t, ticks, 0)
	began := monotime.Now()
	th, err := startThrottle(t.Context(), Spec{Kind: KindThrottle, Share: 0.1, Period: time.Hour}, subjectOf(p))
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(decided.Limit); ; <-time.After(time.Millisecond) {
		states, err := hosts.States([]int{p.PID()})
		if err != nil || time.Now().After(end) {
			t.Fatalf("the stop never took effect: %+v, %v", states, err)
		}
		if len(states) > 0 && states[0].State == 'T' {
			break
		}
	}
	// most of the time it has stood still, however long the stop took
	<-time.After(3 * monotime.Since(began))
	if e, err := th.Heal(); err != nil || !e.Bit || !strings.Contains(e.Proof, "stopped 1 times") {
		t.Errorf("%+v, %v", e, err)
	}
	after(t, ticks, monotime.Now())
}

// Who is dead, or dies meanwhile, is not throttled.
func TestThrottleOfTheDead(t *testing.T) {
	p, ticks := startClock(t)
	after(t, ticks, 0)
	th, err := startThrottle(t.Context(), Spec{Kind: KindThrottle, Share: 0.1, Period: time.Hour}, subjectOf(p))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e, err := th.Heal(); err == nil || e.Bit {
		t.Errorf("it died meanwhile: %+v", e)
	}
	if _, err := startThrottle(t.Context(), Spec{Kind: KindThrottle, Share: 0.1}, subjectOf(p)); err == nil {
		t.Error("a dead process can't be throttled")
	}
	if _, err := startThrottle(t.Context(), Spec{Kind: KindThrottle, Share: 0.1}); err == nil {
		t.Error("a throttle of nobody is none")
	}
}

func TestCheckThrottle(t *testing.T) {
	for _, c := range []struct {
		share  float64
		period time.Duration
		want   string
	}{
		{0.2, 0, ""}, {0.01, 0, ""}, {0.5, 2 * time.Millisecond, ""},
		{0, 0, "share 0"}, {1, 0, "share 1"}, {-0.5, 0, "share -0.5"}, {0.001, 0, "share 0.001"},
		{0.01, 10 * time.Millisecond, "either part"},
		{0.5, -time.Second, "either part"},
	} {
		err := Check(Spec{Kind: KindThrottle, Aim: Aim{Target: Holder, When: Random}, Share: c.share, Period: c.period},
			Setting{Nodes: []string{"redis-1"}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("share %v, period %v: %v, want %q", c.share, c.period, err, c.want)
		}
	}
}

// A stop lasts as planned, and longer where the subject is ahead of its share.
func TestThrottleCatchesUp(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct{ stopped, passed, want time.Duration }{
		{0, 0, 80 * ms},                 // the first
		{80 * ms, 100 * ms, 80 * ms},    // in time
		{160 * ms, 202 * ms, 80 * ms},   // late by less than a stop makes good: 1.6 ms / 0.2
		{80 * ms, 130 * ms, 120 * ms},   // 30 ms too many: (104 - 80) / 0.2
		{80 * ms, 400 * ms, 160 * ms},   // more than two stops make good
		{1000 * ms, 1000 * ms, 80 * ms}, // it was stopped all the time
	} {
		x := throttled{stopped: c.stopped}
		if got := x.due(Spec{Share: 0.2}, c.passed); (got - c.want).Abs() > time.Microsecond {
			t.Errorf("stopped %v of %v: %v, want %v", c.stopped, c.passed, got, c.want)
		}
	}
}
