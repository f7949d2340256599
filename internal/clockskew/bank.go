//go:build linux

package clockskew

import (
	"encoding/binary"
	"math"
	"math/bits"
	"time"

	"golang.org/x/sys/unix"
)

// The classes of clocks, as indices.
const (
	wall = iota
	mono
	classes
)

// clockIDs is how many clock ids a bank has, from 0 on.
const clockIDs = unix.CLOCK_TAI + 1

// classOf is the class of each clock id that is skewed; the others show true time.
var classOf = map[int]int{
	unix.CLOCK_REALTIME: wall, unix.CLOCK_REALTIME_COARSE: wall, unix.CLOCK_REALTIME_ALARM: wall, unix.CLOCK_TAI: wall,
	unix.CLOCK_MONOTONIC: mono, unix.CLOCK_MONOTONIC_RAW: mono, unix.CLOCK_MONOTONIC_COARSE: mono,
	unix.CLOCK_BOOTTIME: mono, unix.CLOCK_BOOTTIME_ALARM: mono,
}

// readings are true times of all clock ids, in ns.
type readings [clockIDs]int64

// line is what a clock shows: at true time t, t + off + (t-ref)*rate/2^32 ns,
// rounded down. Each id has a line of its own, since the coarse clocks,
// MONOTONIC_RAW, BOOTTIME and TAI differ from the clock whose name the class has.
type line struct{ ref, off int64 }

// bank is one setting, as asm/skew_amd64.asm reads it.
type bank struct {
	rate  [classes]int64 // (r-1) * 2^32
	inv   [classes]int64 // 2^32 / r
	clock [clockIDs]line
}

const (
	one      = 1 << 32 // of the fixed-point numbers
	bankSize = 16*classes + 16*clockIDs
)

// neutral is the bank that shows true time.
func neutral() bank { return bank{inv: [classes]int64{one, one}} }

func (k bank) encode() []byte {
	b := make([]byte, 0, bankSize)
	put := func(v int64) { b = binary.LittleEndian.AppendUint64(b, uint64(v)) }
	for c := range classes {
		put(k.rate[c])
		put(k.inv[c])
	}
	for _, l := range k.clock {
		put(l.ref)
		put(l.off)
	}
	return b
}

func decodeBank(b []byte) (k bank) {
	get := func() int64 {
		v := int64(binary.LittleEndian.Uint64(b))
		b = b[8:]
		return v
	}
	for c := range classes {
		k.rate[c], k.inv[c] = get(), get()
	}
	for i := range k.clock {
		k.clock[i] = line{get(), get()}
	}
	return k
}

// scaled is d*rate/2^32, rounded down, by way of the 128-bit product.
func scaled(d, rate int64) int64 {
	hi, lo := bits.Mul64(uint64(d), uint64(rate))
	// Of a negative factor Mul64 saw 2^64 more.
	hi -= uint64(d>>63)&uint64(rate) + uint64(rate>>63)&uint64(d)
	return int64(hi<<32 | lo>>32)
}

// gained is the difference of a clock from true time at t, rounded up: a line
// that goes on with it is nowhere behind the old one.
func (k bank) gained(id int, t int64) int64 {
	l := k.clock[id]
	return l.off - scaled(t-l.ref, -k.rate[classOf[id]])
}

// skew is what the bank makes the process see at the given true times.
func (k bank) skew(now readings) Skew {
	at := func(id int) Clock {
		return Clock{time.Duration(k.gained(id, now[id])), 1 + float64(k.rate[classOf[id]])/one}
	}
	return Skew{at(unix.CLOCK_REALTIME), at(unix.CLOCK_MONOTONIC)}
}

// next is the bank that shows s from now on, where before it was k. What s leaves as it is goes
// on without a break on every clock. No monotonic clock goes back, if s does not ask for it.
func (k bank) next(now readings, s Skew) bank {
	was := k.skew(now)
	n := neutral()
	for c, want := range [classes]Clock{s.Wall, s.Mono} {
		n.rate[c] = int64(math.Round((want.rate() - 1) * one))
		n.inv[c] = int64(math.Round(one / want.rate()))
	}
	for id, class := range classOf {
		want, have := s.Wall, was.Wall
		if class == mono {
			want, have = s.Mono, was.Mono
		}
		same := want.Offset == have.Offset
		own := k.gained(id, now[id])
		switch l := &n.clock[id]; {
		case class == wall && want.Offset == 0 && n.rate[wall] == 0: // true is true, on every clock
			*l = line{}
		case same && n.rate[class] == k.rate[class]:
			*l = k.clock[id]
		case same:
			*l = line{now[id], own}
		case class == mono: // a coarse clock may be ahead of its fine one
			*l = line{now[id], max(own, int64(want.Offset))}
		default:
			*l = line{now[id], int64(want.Offset)}
		}
	}
	return n
}
