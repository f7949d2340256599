//go:build linux

package clockskew

import (
	"context"
	"encoding/binary"
	"errors"
	"math/big"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestSupported(t *testing.T) { ok(t, Supported(t.Context())) }

func TestSupportedEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Supported(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestEveryClock: each clock id shows what its class was set to, also through
// gettimeofday and time; others are left alone.
func TestEveryClock(t *testing.T) {
	p := newProbe(t)
	must(t)(p.target.Install(t.Context()))
	for _, s := range []Skew{
		{},
		{Wall: Clock{Offset: 400 * 24 * time.Hour}, Mono: Clock{Offset: time.Hour}},
		{Wall: Clock{Offset: -20 * time.Second}, Mono: Clock{Offset: time.Hour}},
	} {
		ok(t, p.target.Set(t.Context(), s))
		for id, class := range classOf {
			want := map[int]time.Duration{wall: s.Wall.Offset, mono: s.Mono.Offset}[class]
			if _, err := p.read(id); errors.Is(err, unix.EINVAL) && (id == unix.CLOCK_REALTIME_ALARM || id == unix.CLOCK_BOOTTIME_ALARM) {
				continue // this machine has no alarm clock
			}
			p.expect(t, s.String(), id, want)
		}
		before, err := p.target.now()
		ok(t, err)
		tv, ret, err := p.call(gettimeofday, 0) // (NULL, buffer): the zone
		if err != nil || ret != 0 || tv[0] != 0 {
			t.Errorf("gettimeofday of the zone: %v, %d, %v", tv, ret, err)
		}
		tim, _, err := p.call(timeOfDay, 0)
		ok(t, err)
		_, sec, err := p.call(timeOfDay, 0)
		ok(t, err)
		after, err := p.target.now()
		ok(t, err)
		least := (before[unix.CLOCK_REALTIME_COARSE] + int64(s.Wall.Offset)) / 1e9
		most := (after[unix.CLOCK_REALTIME_COARSE] + int64(s.Wall.Offset)) / 1e9
		if sec < least || sec > most {
			t.Errorf("%v: time() says %d, want %d to %d (%v)", s, sec, least, most, tim)
		}
	}
	for _, id := range []int64{unix.CLOCK_PROCESS_CPUTIME_ID, unix.CLOCK_THREAD_CPUTIME_ID} {
		if ts, ret, err := p.call(clockGettime, id); err != nil || ret != 0 || ts[0] > 60 {
			t.Errorf("clock %d: %v, %d, %v", id, ts, ret, err)
		}
	}
	if _, ret, err := p.call(clockGettime, 77); err != nil || unix.Errno(-int32(ret)) != unix.EINVAL {
		t.Errorf("an invalid clock: %d, %v", ret, err)
	}
}

// TestBySystemCall: the same on a kernel whose functions cannot be moved.
func TestBySystemCall(t *testing.T) {
	p := newProbe(t)
	c := must(t)(p.target.Install(t.Context()))
	ok(t, p.target.Set(t.Context(), Skew{Wall: Clock{Offset: time.Hour}}))
	t.Logf("by the vDSO's own code: %v", c.Fast)
	// the child waits in read
	ok(t, p.target.writeAt(p.target.at(offTramp), code[offTramp:offBank]))
	for id := range classOf {
		if id == unix.CLOCK_REALTIME_ALARM || id == unix.CLOCK_BOOTTIME_ALARM {
			continue // perhaps not on this machine
		}
		p.expect(t, "by system call", id, map[int]time.Duration{wall: time.Hour}[classOf[id]])
	}
}

// TestRates: between two readings a clock gains what its rate says, whatever its id.
func TestRates(t *testing.T) {
	p := newProbe(t)
	must(t)(p.target.Install(t.Context()))
	for _, rate := range []float64{5, 0.5, 1000, MinRate, 1, 1.0001} {
		ok(t, p.target.Adjust(t.Context(), func(s Skew) Skew {
			s.Wall.Rate, s.Mono.Rate = rate, rate
			return s
		}))
		for _, id := range []int{unix.CLOCK_REALTIME, unix.CLOCK_MONOTONIC, unix.CLOCK_TAI, unix.CLOCK_BOOTTIME,
			unix.CLOCK_MONOTONIC_RAW, unix.CLOCK_MONOTONIC_COARSE} {
			trueFirst, shownFirst := p.bracket(t, id)
			for until := trueFirst[1] + int64(8*time.Millisecond); ; {
				if now, err := p.target.now(); err != nil || now[id] > until {
					ok(t, err)
					break
				}
			}
			trueThen, shownThen := p.bracket(t, id)
			least := rate * float64(trueThen[0]-trueFirst[1])
			most := rate * float64(trueThen[1]-trueFirst[0])
			if got := float64(shownThen - shownFirst); got < least-2 || got > most+2 {
				t.Errorf("rate %v, clock %d: shown %v ns, true time times rate is %v to %v", rate, id, got, least, most)
			}
		}
	}
}

// bracket reads a clock of the probe between two readings of the true one.
func (p *probe) bracket(t *testing.T, id int) (around [2]int64, shown int64) {
	t.Helper()
	before, err := p.target.now()
	ok(t, err)
	shown, err = p.read(id)
	ok(t, err)
	after, err := p.target.now()
	ok(t, err)
	return [2]int64{before[id], after[id]}, shown
}

// TestMonotonicNeverGoesBack: through changes of rate, jumps and heals no clock
// of the class goes back, coarse ones included.
func TestMonotonicNeverGoesBack(t *testing.T) {
	p := newProbe(t)
	must(t)(p.target.Install(t.Context()))
	last := map[int]int64{}
	look := func(what any) {
		for _, id := range []int{unix.CLOCK_MONOTONIC, unix.CLOCK_MONOTONIC_COARSE, unix.CLOCK_MONOTONIC_RAW, unix.CLOCK_BOOTTIME} {
			shown, err := p.read(id)
			ok(t, err)
			if shown < last[id] {
				t.Fatalf("%v: clock %d went back by %v", what, id, time.Duration(last[id]-shown))
			}
			last[id] = shown
		}
	}
	rates := []float64{5, 1, 0.5, 0.001, 900, 0.5, 7, 1}
	for i := range 400 {
		rate := rates[i%len(rates)]
		ok(t, p.target.Adjust(t.Context(), func(s Skew) Skew {
			s.Mono.Rate = rate
			if i%3 == 0 {
				s.Mono.Offset += time.Duration(i)
			}
			s.Wall.Offset = time.Duration(i%2) * time.Minute
			return s
		}))
		look(rate)
		if i%10 == 0 {
			ok(t, p.target.Heal(t.Context()))
			look("heal")
		}
	}
}

func TestBackwardIsRefused(t *testing.T) {
	p := newProbe(t)
	must(t)(p.target.Install(t.Context()))
	ok(t, p.target.Set(t.Context(), Skew{Mono: Clock{Offset: time.Minute}}))
	if err := p.target.Set(t.Context(), Skew{Mono: Clock{Offset: time.Minute - 1}}); !errors.Is(err, ErrBackward) {
		t.Errorf("Set: %v", err)
	}
	if _, err := p.target.Restore(t.Context()); !errors.Is(err, ErrBackward) {
		t.Errorf("Restore: %v", err)
	}
	ok(t, p.target.Heal(t.Context()))
	p.expect(t, "healed", unix.CLOCK_MONOTONIC, time.Minute)
	if _, err := p.target.Restore(t.Context()); !errors.Is(err, ErrBackward) {
		t.Errorf("Restore after Heal: %v", err)
	}
	if s, err := p.target.Now(); err != nil || s != (Skew{Clock{0, 1}, Clock{time.Minute, 1}}) {
		t.Errorf("%v, %v", s, err)
	}
}

// TestRestoreGoesOnFromBehind: a clock that was slow is true after Restore, and
// the vDSO is as the kernel made it, but for code that nobody reaches.
func TestRestoreGoesOnFromBehind(t *testing.T) {
	p := newProbe(t)
	must(t)(p.target.Install(t.Context()))
	ok(t, p.target.Set(t.Context(), Skew{Wall: Clock{Offset: time.Hour, Rate: 3}, Mono: Clock{Rate: 0.5}}))
	if s, err := p.target.Now(); err != nil || s.Mono.Offset >= 0 || s.Mono.Rate != 0.5 || s.Wall.Rate != 3 {
		t.Errorf("%v, %v", s, err)
	}
	must(t)(p.target.Restore(t.Context()))
	for id := range classOf {
		if id != unix.CLOCK_REALTIME_ALARM && id != unix.CLOCK_BOOTTIME_ALARM {
			p.expect(t, "restored", id, 0)
		}
	}
	if found, err := p.target.state(); err != nil || found.installed || !found.written {
		t.Errorf("%+v, %v", found, err)
	}
	if c := must(t)(p.target.Restore(t.Context())); c.Tries != 0 {
		t.Error("a second Restore stopped the process")
	}
	if err := p.target.Set(t.Context(), Skew{}); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("Set after Restore: %v", err)
	}
	if _, err := p.target.Now(); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("Now after Restore: %v", err)
	}
	if err := p.target.Heal(t.Context()); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("Heal after Restore: %v", err)
	}
}

// TestASecondTargetFindsTheFirstOnesWork: a harness that died left a skew; the
// next one finds and heals it.
func TestASecondTargetFindsTheFirstOnesWork(t *testing.T) {
	p := newProbe(t)
	must(t)(p.target.Install(t.Context()))
	set := Skew{Wall: Clock{Offset: time.Hour, Rate: 1}, Mono: Clock{Offset: time.Second, Rate: 1}}
	ok(t, p.target.Set(t.Context(), set))
	p.target.Close()
	p.target = open(t, p.cmd.Process.Pid)
	if got, err := p.target.Now(); err != nil || got != set {
		t.Errorf("found %v, %v", got, err)
	}
	if c := must(t)(p.target.Install(t.Context())); c.Tries != 0 {
		t.Error("a second Install stopped the process")
	}
	ok(t, p.target.Heal(t.Context()))
	p.expect(t, "healed", unix.CLOCK_REALTIME, 0)
	p.expect(t, "healed", unix.CLOCK_MONOTONIC, time.Second)
}

// TestManyTargetsAtOnce: each has its own clocks.
func TestManyTargetsAtOnce(t *testing.T) {
	var all sync.WaitGroup
	var probes []*probe
	for range 24 {
		probes = append(probes, newProbe(t))
	}
	for i, p := range probes {
		all.Go(func() {
			if _, err := p.target.Install(t.Context()); err != nil {
				t.Error(err)
				return
			}
			for round := range 20 {
				d := time.Duration(i*1000+round) * time.Second
				if err := p.target.Set(t.Context(), Skew{Wall: Clock{Offset: d}, Mono: Clock{Offset: d}}); err != nil {
					t.Error(err)
					return
				}
				for _, id := range []int{unix.CLOCK_REALTIME, unix.CLOCK_MONOTONIC} {
					if least, most, err := p.differs(id); err != nil || d < least || d > most {
						t.Errorf("target %d: clock %d is ahead by %v to %v, want %v, %v", i, id, least, most, d, err)
					}
				}
			}
		})
	}
	all.Wait()
}

// FuzzCodeAgainstBig runs the injected code itself: in a child whose true clock is
// replaced by one that stands still at t, and a bank of any numbers. It must show
// what the definition says, unless that is beyond 63 bits, where nobody gets.
func FuzzCodeAgainstBig(f *testing.F) {
	f.Add(uint8(0), int64(1_790_000_000_000_000_000), int64(1_790_000_000_000_000_000), int64(3_600_000_000_000), int64(4*one))
	f.Add(uint8(1), int64(5_000_000_000), int64(4_999_999_999), int64(0), int64(-one/2))
	f.Add(uint8(6), int64(5_000_000_000), int64(5_000_000_001), int64(-1), int64(-1))
	f.Add(uint8(7), int64(1), int64(0), int64(-10), int64(0))
	f.Add(uint8(11), int64(1e18), int64(0), int64(-1), int64(one))
	p := newProbe(f)
	must(f)(p.target.Install(f.Context()))
	f.Fuzz(func(t *testing.T, id uint8, at, ref, off, rate int64) {
		class, skewed := classOf[int(id)]
		if at < 0 || !skewed {
			return
		}
		k := neutral()
		k.rate[class] = rate
		k.clock[id] = line{ref, off}
		want := k.shown(int(id), at)
		// The code computes with 64 bits after the product; so do not go beyond.
		for _, n := range []*big.Int{
			new(big.Int).Sub(big.NewInt(at), big.NewInt(ref)),
			new(big.Int).Add(big.NewInt(at), big.NewInt(off)),
			new(big.Int).Rsh(new(big.Int).Mul(new(big.Int).Sub(big.NewInt(at), big.NewInt(ref)), big.NewInt(rate)), 32), want,
		} {
			if !n.IsInt64() {
				return
			}
		}
		ok(t, p.target.writeAt(p.target.at(offTramp), standStill(at)))
		ok(t, p.target.publish(k))
		if got, err := p.read(int(id)); err != nil || got != want.Int64() {
			t.Errorf("clock %d at %d, ref %d, off %d, rate %d: %d, %v; want %v", id, at, ref, off, rate, got, err, want)
		}
	})
}

// standStill is code for the trampoline: a clock_gettime that says t.
func standStill(t int64) []byte {
	le := binary.LittleEndian
	b := le.AppendUint64([]byte{0x48, 0xb8}, uint64(t/1e9))   // mov rax, sec
	b = append(b, 0x48, 0x89, 0x06)                           // mov [rsi], rax
	b = le.AppendUint64(append(b, 0x48, 0xb8), uint64(t%1e9)) // mov rax, nsec
	// mov [rsi+8], rax; xor eax, eax; ret
	return append(b, 0x48, 0x89, 0x46, 0x08, 0x31, 0xc0, 0xc3, 0xcc)
}
