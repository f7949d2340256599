package nemesis

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// reader prints what its clocks show, again and again: the wall clock and the time since its
// start by the monotonic clock, both in ns, and the true monotonic time, which no skew reaches.
func reader([]string) int {
	began := time.Now()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		now := time.Now()
		if _, err := fmt.Println(now.UnixNano(), now.Sub(began).Nanoseconds(), monotime.Now()); err != nil {
			return 0
		}
	}
	return 0
}

// reading is one line of a reader.
type reading struct{ wall, mono, at int64 }

// startReader starts a reader on a host of its own.
func startReader(t *testing.T) (subject, <-chan reading) {
	t.Helper()
	readings := make(chan reading, 1<<16)
	p := startPrinter(t, "reader", func() { close(readings) }, func(line string) error {
		var r reading
		_, err := fmt.Sscan(line, &r.wall, &r.mono, &r.at)
		readings <- r
		return err
	})
	return subject{Name: "reader", PIDs: p.Group}, readings
}

// until returns the first reading for which the condition holds.
func until(t *testing.T, readings <-chan reading, what string, holds func(reading) bool) reading {
	t.Helper()
	limit := time.NewTimer(decided.Limit)
	defer limit.Stop()
	for {
		select {
		case r, open := <-readings:
			if !open {
				t.Fatalf("the reader ended before %s", what)
			}
			if holds(r) {
				return r
			}
		case <-limit.C:
			t.Fatalf("the reader never showed %s", what)
		}
	}
}

// ahead is how far a reading's wall clock is from true time, within the time
// that the reading took to come.
func (r reading) ahead() time.Duration {
	return time.Duration(r.wall-time.Now().UnixNano()) + time.Duration(monotime.Now()-r.at)
}

func near(d, want time.Duration) bool { return (d - want).Abs() < time.Second }

func clockSpec(kind string, c Clock, by time.Duration) Spec {
	return Spec{Kind: kind, Aim: Aim{Holder, Random}, Clock: c, By: by}
}

// skewed starts a fault of a reader's clocks, and fails the test unless it can
// be healed, and healed again.
func skewed(t *testing.T, s Spec, subject subject) (heal func() Effect) {
	t.Helper()
	if err := Check(s, Setting{}); err != nil {
		t.Fatal(err)
	}
	c, err := skewClocks(t.Context(), s, subject)
	if err != nil {
		t.Fatal(err)
	}
	return func() Effect {
		t.Helper()
		e, err := c.Heal()
		if err != nil || !e.Bit || e.From == 0 || e.To < e.From || e.From != c.From() {
			t.Errorf("%+v, %v", e, err)
		}
		checkReadings(t, c)
		if again, err := c.Heal(); again != e || err != nil {
			t.Errorf("healed again: %+v, %v", again, err)
		}
		return e
	}
}

// checkReadings looks whether the readings of a fault tell what it did.
func checkReadings(t *testing.T, c *Clocks) {
	t.Helper()
	at := map[string]ClockReading{}
	var wall []time.Duration // between beginning and end
	all := c.Readings()
	for _, r := range all {
		if r.Host != "reader" || r.PID == 0 || r.At == 0 {
			t.Errorf("%+v", r)
		}
		if r.Step == "" {
			wall = append(wall, r.Wall)
		} else {
			at[r.Step] = r
		}
	}
	before, begin, end, healed := at[stepBefore], at[stepBegin], at[stepEnd], at[stepHealed]
	if before.At == 0 || before.At > begin.At || begin.At > end.At || end.At > healed.At {
		t.Errorf("not in order: %+v", all)
	}
	if healed.Wall != 0 || healed.Mono < before.Mono {
		t.Errorf("healed to %+v", healed)
	}
	switch s := c.spec; {
	case s.Kind == KindClockRate && end.Mono <= begin.Mono:
		t.Errorf("gained nothing: %+v, %+v", begin, end)
	case s.Kind == KindClockJump && (!near(begin.Wall+begin.Mono-before.Wall-before.Mono, s.By) ||
		!near(end.Wall+end.Mono-before.Wall-before.Mono, s.By)):
		t.Errorf("no jump of %v: %+v, %+v, %+v", s.By, before, begin, end)
	case s.Kind == KindClockStrobe && (len(wall) < 2 || !near(wall[0]-wall[1], -s.By)):
		t.Errorf("no strobe of %v: %v", s.By, wall)
	}
}

// However long a fault lasts, it keeps a bounded number of readings, and those
// of a strobe still show both its times.
func TestReadingsAreThinned(t *testing.T) {
	c := &Clocks{}
	for range 100 * keptRounds {
		c.between()
	}
	if n := len(c.readings.rounds); n < keptRounds/2 || n > keptRounds {
		t.Errorf("%d rounds kept of %d", n, c.readings.looks)
	}
	if c.readings.stride < 100 {
		t.Errorf("stride %d", c.readings.stride)
	}
}

// A wall clock jumps, forward or back, and is true again when it is healed.
func TestWallClockJumps(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			subject, readings := startReader(t)
			before := until(t, readings, "a time", func(reading) bool { return true })
			heal := skewed(t, clockSpec(KindClockJump, Wall, by), subject)
			r := until(t, readings, "the jump", func(r reading) bool { return near(r.ahead(), by) })
			if off := time.Duration((r.mono - before.mono) - (r.at - before.at)); !near(off, 0) {
				t.Errorf("the monotonic clock moved by %v", off)
			}
			e := heal()
			if !strings.Contains(e.Proof, "before, wall") || !strings.Contains(e.Proof, "1h0m0s") {
				t.Errorf("proof %q", e.Proof)
			}
			until(t, readings, "true time", func(r reading) bool { return near(r.ahead(), 0) })
		})
	}
}

// A monotonic clock jumps forward, and keeps what it gained: it never goes back.
func TestMonotonicClockJumps(t *testing.T) {
	subject, readings := startReader(t)
	before := until(t, readings, "a time", func(reading) bool { return true })
	heal := skewed(t, clockSpec(KindClockJump, Mono, time.Hour), subject)
	last := before
	gained := func(r reading) bool {
		if r.mono < last.mono {
			t.Errorf("the monotonic clock went from %d to %d", last.mono, r.mono)
		}
		last = r
		return near(time.Duration((r.mono-before.mono)-(r.at-before.at)), time.Hour)
	}
	r := until(t, readings, "the jump", gained)
	if !near(r.ahead(), 0) {
		t.Errorf("the wall clock moved by %v", r.ahead())
	}
	healed := heal().To
	if r := until(t, readings, "anything after the healing", func(r reading) bool { gained(r); return r.at > healed }); !gained(r) {
		t.Errorf("healed, it lost what it had gained: %+v", r)
	}
}

// A clock runs fast, and true again when it is healed.
func TestClockRate(t *testing.T) {
	subject, readings := startReader(t)
	s := clockSpec(KindClockRate, Mono, 0)
	s.Rate = 10
	first := until(t, readings, "a time", func(reading) bool { return true })
	heal := skewed(t, s, subject)
	until(t, readings, "a gain of a second", func(r reading) bool { return (r.mono-first.mono)-(r.at-first.at) > int64(time.Second) })
	healed := heal().To
	first = until(t, readings, "anything after the healing", func(r reading) bool { return r.at > healed+int64(100*time.Millisecond) })
	// A reading may have been interrupted; a clock that still runs fast gains more and more.
	until(t, readings, "100 ms in which the healed clock gains nothing", func(r reading) bool {
		off := time.Duration((r.mono - first.mono) - (r.at - first.at))
		return r.at-first.at > int64(100*time.Millisecond) && off.Abs() < 50*time.Millisecond
	})
}

// A strobe shows both times in turn.
func TestClockStrobe(t *testing.T) {
	subject, readings := startReader(t)
	s := clockSpec(KindClockStrobe, Wall, time.Hour)
	s.Period = 2 * time.Millisecond
	heal := skewed(t, s, subject)
	for range 5 {
		until(t, readings, "the far time", func(r reading) bool { return near(r.ahead(), time.Hour) })
		until(t, readings, "true time", func(r reading) bool { return near(r.ahead(), 0) })
	}
	if e := heal(); !strings.Contains(e.Proof, " jumps to and fro") {
		t.Errorf("proof %q", e.Proof)
	}
	healed := monotime.Now()
	for range 20 {
		if r := until(t, readings, "anything after the healing", func(r reading) bool { return r.at > healed }); !near(r.ahead(), 0) {
			t.Errorf("healed, it is off by %v", r.ahead())
		}
	}
}

func TestCheckRefusesImpossibleClocks(t *testing.T) {
	rate := func(r float64) Spec { s := clockSpec(KindClockRate, Wall, 0); s.Rate = r; return s }
	strobe := func(c Clock, period time.Duration) Spec {
		s := clockSpec(KindClockStrobe, c, time.Second)
		s.Period = period
		return s
	}
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{clockSpec(KindClockJump, "", time.Hour), "needs a clock"},
		{clockSpec(KindClockJump, Wall, 0), "how far the clock jumps must be given"},
		{clockSpec(KindClockJump, Mono, -time.Second), "does not go back"},
		{clockSpec(KindClockJump, Wall, 30*365*24*time.Hour), "at most"},
		{rate(0), "a rate of 0"}, {rate(1), "which is no fault"}, {rate(5000), "it may be"},
		{strobe(Mono, time.Second), "does not go back"},
		{strobe(Wall, 0), "how often a strobe jumps"},
		{Spec{Kind: KindClockJump, Aim: Aim{Holder, Random}, Clock: Wall, By: 1, Rate: 2}, "a clock-jump takes no rate, only clock, by"},
	} {
		if err := Check(c.spec, Setting{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.want)
		}
	}
}

func TestClocksOfNobody(t *testing.T) {
	s := clockSpec(KindClockJump, Wall, time.Hour)
	if _, err := skewClocks(t.Context(), s, subject{Name: "empty",
		PIDs: func() ([]int, error) { return nil, nil }}); err == nil || !strings.Contains(err.Error(), "none is left") {
		t.Errorf("%v", err)
	}
}
