//go:build linux

package clockskew

import (
	"math"
	"math/big"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// shown is what the code in the target shows on a clock at true time t, by its
// definition, in numbers of any size.
func (k bank) shown(id int, t int64) *big.Int {
	class, skewed := classOf[id]
	if !skewed {
		return big.NewInt(t)
	}
	l := k.clock[id]
	v := new(big.Int).Sub(big.NewInt(t), big.NewInt(l.ref))
	v.Mul(v, big.NewInt(k.rate[class]))
	v.Rsh(v, 32) // rounds down
	v.Add(v, big.NewInt(t)).Add(v, big.NewInt(l.off))
	if v.Sign() < 0 {
		v.SetInt64(0)
	}
	return v
}

func TestBankIsReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := anyBank(t)
		b := k.encode()
		if len(b) != bankSize {
			t.Fatalf("%d bytes, want %d", len(b), bankSize)
		}
		if got := decodeBank(b); got != k {
			t.Fatalf("%+v, want %+v", got, k)
		}
	})
}

func anyBank(t *rapid.T) (k bank) {
	word := rapid.Int64()
	for c := range classes {
		k.rate[c], k.inv[c] = word.Draw(t, "rate"), word.Draw(t, "inv")
	}
	for i := range k.clock {
		k.clock[i] = line{word.Draw(t, "ref"), word.Draw(t, "off")}
	}
	return k
}

func FuzzScaledAgainstBig(f *testing.F) {
	f.Add(int64(1), int64(one))
	f.Add(int64(-1), int64(1))
	f.Add(int64(math.MinInt64), int64(-one))
	f.Add(int64(1e18), int64(-one/2))
	f.Add(int64(-1e15), int64(999*one))
	f.Fuzz(func(t *testing.T, d, rate int64) {
		want := new(big.Int).Mul(big.NewInt(d), big.NewInt(rate))
		want.Rsh(want, 32)
		// what is left of it in 64 bits
		low := new(big.Int).And(want, new(big.Int).SetUint64(math.MaxUint64))
		if got := scaled(d, rate); uint64(got) != low.Uint64() {
			t.Errorf("%d * %d / 2^32 = %v, not %d", d, rate, want, got)
		}
	})
}

// anySkew draws a setting within the limits.
func anySkew(t *rapid.T, label string) Skew {
	clock := func(which string) Clock {
		return Clock{
			Offset: time.Duration(rapid.Int64Range(-int64(MaxOffset), int64(MaxOffset)).Draw(t, label+which+"Offset")),
			Rate:   rapid.OneOf(rapid.Just(1.0), rapid.Float64Range(MinRate, MaxRate)).Draw(t, label+which+"Rate"),
		}
	}
	return Skew{clock("Wall"), clock("Mono")}
}

// anyReadings draws true times, of which those of one class are near each other.
func anyReadings(t *rapid.T) (r readings) {
	bases := [classes]int64{rapid.Int64Range(1e18, 2e18).Draw(t, "wall"), rapid.Int64Range(1e9, 1e17).Draw(t, "mono")}
	for id := range clockIDs {
		if class, skewed := classOf[id]; skewed {
			r[id] = bases[class] - rapid.Int64Range(0, 1e9).Draw(t, "lag")
		}
	}
	return r
}

// later draws true times up to some minutes after r.
func later(t *rapid.T, r readings, label string) readings {
	for id := range r {
		if _, skewed := classOf[id]; skewed {
			r[id] += rapid.Int64Range(0, 3e11).Draw(t, label)
		}
	}
	return r
}

// TestNextGoesOnWhereItShall: a setting shows what was asked for; what is left
// as it is goes on; no monotonic clock goes back.
func TestNextGoesOnWhereItShall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, now := neutral(), anyReadings(t)
		k := first.next(now, anySkew(t, "first"))
		now = later(t, now, "wait")
		was := k.skew(now)
		want := anySkew(t, "then")
		keepWall, keepMono := rapid.Bool().Draw(t, "keepWall"), rapid.Bool().Draw(t, "keepMono")
		if keepWall {
			want.Wall.Offset = was.Wall.Offset
		}
		want.Mono.Offset = max(want.Mono.Offset, was.Mono.Offset)
		if keepMono {
			want.Mono.Offset = was.Mono.Offset
		}
		n := k.next(now, want)
		if got := n.skew(now); got.Wall.Offset != want.Wall.Offset || got.Mono.Offset != want.Mono.Offset {
			t.Fatalf("shows %+v, want %+v", got, want)
		}
		for id, class := range classOf {
			before, after := k.shown(id, now[id]), n.shown(id, now[id])
			kept := class == wall && keepWall && want.Wall != (Clock{0, 1}) || class == mono && keepMono
			step := new(big.Int).Sub(after, before)
			switch {
			case class == mono && step.Sign() < 0:
				t.Fatalf("monotonic clock %d goes back by %v ns", id, step)
			case kept && (step.Sign() < 0 || step.Cmp(big.NewInt(1)) > 0):
				t.Fatalf("clock %d was to go on and jumps by %v ns", id, step)
			}
			if rate := float64(n.rate[class]) / one; math.Abs(rate+1-map[int]Clock{wall: want.Wall, mono: want.Mono}[class].Rate) > 1e-9 {
				t.Fatalf("clock %d runs at %v", id, rate+1)
			}
		}
	})
}

// TestHealedIsTrue: after any settings healing leaves the wall clock exactly
// true, and the monotonic one at the true rate.
func TestHealedIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := anyReadings(t)
		first := neutral()
		k := first.next(now, anySkew(t, "skew"))
		now = later(t, now, "wait")
		n := k.next(now, Skew{Mono: Clock{Offset: k.skew(now).Mono.Offset}})
		end := later(t, now, "after")
		s := n.skew(end)
		if s.Wall != (Clock{0, 1}) || s.Mono.Rate != 1 || s.Mono.Offset != k.skew(now).Mono.Offset {
			t.Fatalf("healed: %+v", s)
		}
		for id, class := range classOf {
			if want := big.NewInt(end[id]); class == wall && n.shown(id, end[id]).Cmp(want) != 0 {
				t.Fatalf("clock %d shows %v at %v", id, n.shown(id, end[id]), want)
			}
		}
	})
}

func TestGainedRoundsUp(t *testing.T) {
	k := neutral()
	k.rate[mono] = -1 // a little slow
	k.clock[unix.CLOCK_MONOTONIC] = line{ref: 100}
	for at, want := range map[int64]int64{100: 0, 101: 0, 100 + one: -1, 99: 1} {
		if got := k.gained(unix.CLOCK_MONOTONIC, at); got != want {
			t.Errorf("at %d: %d, want %d", at, got, want)
		}
	}
}

func TestSettingsOutOfBoundsAreRefused(t *testing.T) {
	for _, s := range []Skew{
		{Wall: Clock{Rate: -1}}, {Wall: Clock{Rate: math.NaN()}}, {Mono: Clock{Rate: math.Inf(1)}}, {Mono: Clock{Rate: 1001}},
		{Wall: Clock{Rate: 0.0001}}, {Wall: Clock{Offset: MaxOffset + 1}}, {Mono: Clock{Offset: -MaxOffset - 1}},
	} {
		if s.check() == nil {
			t.Errorf("%+v was accepted", s)
		}
	}
	for _, s := range []Skew{{}, {Wall: Clock{MaxOffset, MaxRate}, Mono: Clock{-MaxOffset, MinRate}}} {
		if err := s.check(); err != nil {
			t.Error(err)
		}
	}
}

func TestSkewInWords(t *testing.T) {
	for want, s := range map[string]Skew{
		"wall true, monotonic true":                           {},
		"wall +20s, monotonic true":                           {Wall: Clock{Offset: 20 * time.Second, Rate: 1}},
		"wall -1.5s at rate 0.5, monotonic +1h0m0s at rate 5": {Wall: Clock{-1500 * time.Millisecond, 0.5}, Mono: Clock{time.Hour, 5}},
	} {
		if got := s.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
